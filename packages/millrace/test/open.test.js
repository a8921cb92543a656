'use strict'
// `open`: good defaults, codecs by name, and the parts that the package hands out.

const path = require('node:path')
const tape = require('tape')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const millrace = require('..')

const { open } = millrace

tape('open: a checked log of JSON by default', async (t) => {
  const log = open(path.join(temporaryFolder(), 'events.log'))
  const seq = await log.append({ type: 'post' })
  t.deepEqual(await log.get(seq), { type: 'post' })
  const { framing, codec } = await log.stats()
  t.deepEqual([framing, codec], ['checked', 'json'])
  await log.close()
})

tape('open: codecs by name', async (t) => {
  const folder = temporaryFolder()
  for (const [codec, value] of [['binary', { n: 1n }], ['bytes', Buffer.from('hi')], ['json', [1]]]) {
    const log = open(path.join(folder, codec), { codec })
    // An array is a batch.
    t.deepEqual(await log.get(await log.append([value])), value, codec)
    t.equal((await log.stats()).codec, codec)
    await log.close()
  }
  const err = await failureOf(() => open(path.join(folder, 'new'), { codec: 'jsn' }))
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
  t.match(err.message, /jsn.*json, binary, bytes/)
})

tape('open: what it hands out can be imported, too', async (t) => {
  const imported = await import('millrace')
  for (const name of Object.keys(millrace)) t.equal(imported[name], millrace[name], name)
})
