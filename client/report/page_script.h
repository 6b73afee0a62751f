// The script of report pages, from page_script.js without comments and
// indentation.
#pragma once

namespace locus::client {

// The text of the script. It contains no "</".
extern const char kPageScript[];
// Its SHA-256 hash in hexadecimal digits, for the content security policy.
extern const char kPageScriptSha256[];

}  // namespace locus::client
