// A thread for sessions of the mail protocols (src/front/thread.ts).

import type { FrontData } from '../src/front/protocol.ts'
import { runFront } from '../src/front/thread.ts'
import type { LineEnd } from '../src/lib/process/link.ts'
import { serve, threadEnd } from '../src/lib/process/serve.ts'
import { openDatabase } from '../src/store/engine/open.ts'
import { databaseOf } from '../src/store/folder/place.ts'

const end = threadEnd<FrontData>()

serve(
  { run: ({ line }: { line: LineEnd }) => runFront(line, end.given, openDatabase(databaseOf(end.given.config))) },
  { end },
)
