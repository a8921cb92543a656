'use strict'
// A log that cannot be opened: whoever asks is told, and if nobody does the process is warned.

const fs = require('node:fs')
const tape = require('tape')
const { BlockFile } = require('@millrace/block-file')
const { failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const WAIT_MS_MAX = 60_000

/** What warnings come while it runs, until so many have come, and for a while afterwards. */
async function warningsOf (run, count = 0) {
  const warnings = []
  const note = (warning) => warnings.push(warning)
  process.on('warning', note)
  await run()
  const begunMs = Date.now()
  do await new Promise((resolve) => setTimeout(resolve, 100))
  while (warnings.length < count && Date.now() - begunMs < WAIT_MS_MAX)
  process.off('warning', note)
  return warnings
}

function makeNoLog () {
  const file = newPath('log')
  fs.writeFileSync(file, 'no log at all '.repeat(100))
  return file
}

tape('open: a failure that nobody asked about is a warning of the process', async (t) => {
  const unasked = {
    'nothing at all': (file) => OffsetLog(file),
    'since is watched': (file) => OffsetLog(file).since(() => {}),
    'a stream is made and not read': (file) => OffsetLog(file).stream(),
    'it is closed': (file) => OffsetLog(file).close()
  }
  for (const [what, run] of Object.entries(unasked)) {
    const file = makeNoLog()
    const warnings = await warningsOf(() => { run(file) }, 1)
    t.equal(warnings.length, 1, what)
    t.deepEqual([warnings[0].name, warnings[0].code], ['FailedOpenWarning', 'ERR_LOG_UNKNOWN_FORMAT'])
    t.ok(warnings[0].message.includes(file))
  }
  const missing = newPath('missing')
  const [warning] = await warningsOf(() => { OffsetLog(missing, { flags: 'r' }) }, 1)
  t.equal(warning.code, 'ENOENT')
  const [ofBlocks] = await warningsOf(() => { BlockFile(missing, { flags: 'r' }) }, 1)
  t.equal(ofBlocks.code, 'ENOENT')
})

tape('open: whoever asked is told, and nobody is warned', async (t) => {
  const asked = {
    ready: (log) => log.ready(),
    get: (log) => log.get(0),
    append: (log) => log.append(Buffer.from('a')),
    stream: (log) => log.stream()[Symbol.asyncIterator]().next(),
    scan: (log) => log.scan({}, () => {}),
    'ready with a callback': (log) => new Promise((resolve, reject) => log.ready((err) => err ? reject(err) : resolve()))
  }
  for (const [what, ask] of Object.entries(asked)) {
    let err
    const warnings = await warningsOf(async () => { err = await failureOf(() => ask(OffsetLog(makeNoLog()))) })
    t.deepEqual([err?.code, warnings], ['ERR_LOG_UNKNOWN_FORMAT', []], what)
  }
  const warnings = await warningsOf(async () => {
    const log = OffsetLog(newPath('log'))
    log.stream()
    await log.close()
  })
  t.deepEqual(warnings, [])
})

tape('open: an index that throws when it is opened fails the open, and the log stays neither open nor locked', async (t) => {
  const index = { open: () => { throw new Error('mine') } }
  for (const [what, prepare] of Object.entries({
    'a new log': () => {},
    'an old one': async (file) => {
      const log = OffsetLog(file)
      await log.append(Buffer.from('a'))
      await log.close()
    }
  })) {
    for (const options of [{}, { signal: new AbortController().signal }, { flags: 'r' }]) {
      const file = newPath('log')
      await prepare(file)
      if (options.flags === 'r' && !fs.existsSync(file)) continue
      const log = OffsetLog(file, { index, ...options })
      t.equal((await failureOf(() => log.ready()))?.message, 'mine', what)
      t.equal((await failureOf(() => log.append(Buffer.from('b'))))?.message, 'mine')
      await log.close()
      const again = OffsetLog(file)
      await again.append(Buffer.from('c'))
      await again.close()
    }
  }
})
