'use strict'
// Callbacks that throw, of what reads a log of any format, and of what converts it.

const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { collectThrown, temporaryFolder, testThrows, until } = require('@millrace/testkit')
const { convert, openSource } = require('..')

async function makeLog () {
  const file = path.join(temporaryFolder(), 'log')
  const log = OffsetLog(file)
  const seqs = [await log.append(Buffer.from('a')), await log.append(Buffer.from('b'))]
  await log.close()
  return { file, seqs }
}

testThrows(tape, {
  name: 'source',
  prepare: async () => {
    const { file, seqs } = await makeLog()
    return { create: () => openSource(file), seqs }
  },
  names: ['ready', 'close', 'the abort of a stream'],
  calls: {
    stream: (log, cb) => log.stream()(null, cb),
    'the end of a stream that was read': (log, cb) => {
      const source = log.stream()
      const read = (end) => end ? cb(end) : source(null, read)
      source(null, read)
    }
  }
})

tape('convert: what its callback throws is an uncaught exception, and it has ended', async (t) => {
  const { file } = await makeLog()
  let count = 0
  const thrown = await collectThrown(async () => {
    for (const from of [file, `${file}.missing`]) {
      convert(from, `${from}.copy`, {}, () => {
        count++
        throw new Error('planned')
      })
    }
    await until(() => count === 2)
  })
  t.deepEqual(thrown, { exceptions: ['planned', 'planned'], rejections: [] })
  const again = OffsetLog(`${file}.copy`)
  t.equal(await again.count(), 2, 'the lock was released')
  await again.close()
})
