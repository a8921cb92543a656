// What a test that uses the suites may write, and, below each @ts-expect-error, what it may not.

import { jsonCodec } from '@millrace/json-codec'
import { OffsetLog } from '@millrace/offset-log'
import { CrashPoint, createRandom, failureOf, flip, SimulatedDisk, temporaryFolder } from '@millrace/testkit'
import { testCodec, testLog } from '@millrace/testkit'

export async function test (tape: (title: string, run: (t: any) => void) => void) {
  testLog(tape, (path, options) => OffsetLog(path, options), { name: 'mine', seed: 7 })
  testCodec(tape, jsonCodec, { runs: 10 })
  const folder: string = temporaryFolder()
  const number: number = createRandom(7)(10)
  flip(`${folder}/a.log`, number)
  const disk = new SimulatedDisk({ capacity: 1024 })
  OffsetLog('a.log', { storage: disk.storage })
  const after: SimulatedDisk = disk.crash((count) => count - 1)
  new CrashPoint(after).toString()
  await failureOf(() => {})

  // @ts-expect-error
  testCodec(tape, { name: 'mine' })
  // @ts-expect-error
  flip('a.log')
}
