// `node test/interop/install.ts`: all programs of others that suites run, at once and before they are needed, so that no suite waits
// for them one by one. Does nothing for who may not install anything.

import { installPackages } from '../../bench/peer/install.ts'
import { packages } from './programs.ts'

if (process.getuid?.() === 0) installPackages(packages)
