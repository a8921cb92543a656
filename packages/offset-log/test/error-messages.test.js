'use strict'
// What errors say: the function that was called, and which value of a batch it was.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { repair, verify } = require('@millrace/repair')

tape('append: the error of a batch says which value it is', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    const log = OffsetLog(newPath('log'), { codec: jsonCodec, framing, maxRecordSize: 100 })
    const batches = [
      [['a', 'b', 1n, 2n], 2, 'ERR_CODEC_ENCODE'],
      [[undefined], 0, 'ERR_CODEC_ENCODE'],
      [['a', 'x'.repeat(200)], 1, 'ERR_RECORD_TOO_LARGE']
    ]
    for (const [values, index, code] of batches) {
      const err = await failureOf(() => log.append(values))
      t.deepEqual([err?.code, err?.index], [code, index], err?.message)
      t.match(err?.message, new RegExp(`^append: value ${index} of the batch: (?!append)`))
    }
    const single = await failureOf(() => log.append(1n))
    t.deepEqual([single?.code, single?.index], ['ERR_CODEC_ENCODE', undefined])
    await log.close()
    const legacy = OffsetLog(newPath('log'), { framing: 'offset32' })
    const empty = await failureOf(() => legacy.append([Buffer.from('a'), Buffer.alloc(0)]))
    t.deepEqual([empty?.code, empty?.index], ['ERR_RECORD_UNREPRESENTABLE', 1])
    await legacy.close()
  }
})

tape('errors: the message names the function that was called', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    const log = OffsetLog(newPath('log'), { framing })
    await log.append(Buffer.from('a'))
    const read = (options) => log.stream(options)[Symbol.asyncIterator]().next()
    const wrong = [{ gt: 'a' }, { limit: -3 }, { onCorrupt: 'x' }, { live: true, reverse: true }, { where: 5 }, null]
    const calls = {
      stream: wrong.map((options) => () => read(options)),
      scan: wrong.map((options) => () => log.scan(options, () => {})),
      get: [() => log.get('a'), () => log.get(5), () => log.get(1e15), () => log.get(0, 'no callback')],
      del: [() => log.del('a'), () => log.del(['a']), () => log.del(5), () => log.del(0, 5)],
      append: [() => log.append(5), () => log.append([5]), () => log.append('a', 5)],
      ready: [() => log.ready(5)],
      sync: [() => log.sync(5)],
      stats: [() => log.stats(5)],
      compact: [() => log.compact(5)],
      snapshot: [() => log.snapshot(5), () => log.snapshot('a', 5)],
      close: [() => log.close(5)],
      verify: [() => verify(5), () => verify('a', {}, 5)],
      repair: [() => repair(5), () => repair('a', 'b', {}, 5)],
      OffsetLog: [() => OffsetLog('a', { codec: 5 }), () => OffsetLog('a', { framing: 'x' }), () => OffsetLog('a', null)]
    }
    t.equal(await failureOf(() => log.scan(undefined, () => {})), null, 'no options at all')
    for (const [name, all] of Object.entries(calls)) {
      for (const call of all) {
        const err = await failureOf(call)
        if (!err?.code || !err.message.startsWith(`${name}: `)) t.fail(`${framing}, ${name}: ${err?.code} ${err?.message}`)
      }
      t.pass(name)
    }
    await log.close()
  }
})
