// Where the program starts: the command line, and with `serve` the service.

import { run } from '#cli/program.ts'

void run()
