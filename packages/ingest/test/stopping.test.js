'use strict'
// Reads that are under way when the server stops, or when their key is revoked.

const path = require('node:path')
const tape = require('tape')
const { temporaryFolder, until } = require('@millrace/testkit')
const { createKey, revokeKey } = require('..')
const { serveOpen } = require('./helpers')

const COUNT = 4000

/** A server with a log of more than one chunk of an answer, and a read of it that waits for its first piece. */
async function serveHeld (t, options) {
  const folder = temporaryFolder()
  const secret = options.keys && await createKey(path.join(folder, 'keys.json'), { scopes: ['read:*', 'write:*'] })
  const bearer = secret ? { authorization: `Bearer ${secret.secret}` } : {}
  const served = await serveOpen(t, { folder })
  const { context, post, read } = served
  const texts = Array.from({ length: COUNT }, (_, n) => ({ n, text: 'm'.repeat(200) }))
  await post('/v1/logs/a', JSON.stringify(texts), bearer)
  let release
  context.scans.run(0, () => new Promise((resolve) => { release = resolve }))
  await until(() => release !== undefined)
  const reading = read(`/v1/logs/a?${options.query ?? 'gt=-1'}`, bearer)
  await until(() => context.scans.count === 1)
  return { ...served, folder, key: secret?.key, bearer, reading, release }
}

for (const [name, query] of Object.entries({ forward: 'gt=-1', backward: 'reverse=true', filtered: 'where={"path":"n","gte":0}' })) {
  tape(`stop: a read that was under way got 500, since it was cut off, and the log of the server says that the server failed (${name})`, async (t) => {
    const { context, reading, release, post } = await serveHeld(t, { query })
    context.stop()
    release()
    const { status, records, end } = await reading
    t.equal(status, 200)
    t.equal(end.reason, 'budget', 'it says where to go on, and the next server does')
    t.ok(records.length > 0 && records.length < COUNT, `${records.length} of ${COUNT} records`)
    const seqs = records.map(({ seq }) => seq)
    if (name === 'backward') t.deepEqual([records[0].value.n, end.next.lt <= seqs.at(-1)], [COUNT - 1, true])
    else t.deepEqual([records[0].value.n, end.next.gte > seqs.at(-1)], [0, true])
    t.equal((await post('/v1/logs/a', '0')).status, 503, 'no further request is taken')
  })
}

tape('keys: a read whose key is revoked before its first line got 500, as if the server had failed', async (t) => {
  const { reading, release, folder, key, context, bearer } = await serveHeld(t, { keys: true })
  await revokeKey(path.join(folder, 'keys.json'), key.id)
  await until(() => context.keys.find(bearer.authorization) === null)
  release()
  const { status, body } = await reading
  t.deepEqual([status, body.code], [401, 'key'])
})
