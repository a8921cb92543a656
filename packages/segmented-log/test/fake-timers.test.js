'use strict'
// A program whose tests replace timers, as jest and sinon do by default: a log that was loaded before goes on.

const { spawnSync } = require('node:child_process')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')

const FAKED = ['setImmediate,clearImmediate', 'setTimeout,clearTimeout', 'setInterval,clearInterval', 'queueMicrotask']

const PROGRAM = `
  const { OffsetLog } = require('@millrace/offset-log')
  const { SegmentedLog } = require('@millrace/segmented-log')
  const { jsonCodec } = require('@millrace/json-codec')
  const watchdog = setTimeout(() => { console.log('hangs'); process.exit(1) }, 60_000)
  const stop = clearTimeout
  for (const name of process.argv[2].split(',')) globalThis[name] = () => ({ unref () {}, ref () {} })
  async function use (log) {
    const seq = await log.append({ n: 1 })
    await log.append([{ n: 2 }, { n: 3 }])
    await log.sync()
    await log.roll?.()
    const live = log.stream({ live: true, gt: seq, seqs: false })[Symbol.asyncIterator]()
    const seen = [(await live.next()).value, (await live.next()).value]
    const next = live.next()
    await log.append({ n: 4 })
    seen.push((await next).value)
    await live.return()
    const got = await log.get(seq)
    await log.del(seq)
    await log.close()
    console.log(JSON.stringify([got, ...seen]))
  }
  async function main () {
    const folder = process.argv[1]
    await use(OffsetLog(folder + '/one.log', { codec: jsonCodec, fsync: 'always' }))
    await use(SegmentedLog(folder + '/many', { codec: jsonCodec }))
    stop(watchdog)
  }
  main()
`

for (const faked of [...FAKED, FAKED.join()]) {
  tape(`fake timers: a log goes on without ${faked}`, (t) => {
    const args = ['-e', PROGRAM, newPath('logs'), faked]
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: __dirname, encoding: 'utf8', timeout: 60_000 })
    t.equal(stdout, '[{"n":1},{"n":2},{"n":3},{"n":4}]\n'.repeat(2), stderr)
    t.end()
  })
}
