#include "client/cli/app.h"

int main(int argc, char** argv) { return locus::client::RunApp(argc, argv); }
