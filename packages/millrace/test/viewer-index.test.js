'use strict'
// The viewer of a log that has an index beside it.

const tape = require('tape')
const { open } = require('..')
const { openViewed } = require('../lib/viewer/open')
const { makeLog } = require('./make-log')
const { callCommand } = require('./run-command')

async function search (viewed, query) {
  const rows = []
  const send = ({ row }) => { if (row) rows.push(row.seq) }
  await viewed.search({ query }, { send, signal: new AbortController().signal })
  return rows
}

tape('viewer: finds with the index that lies beside the log what it finds without, also what was just appended', async (t) => {
  const file = await makeLog(Array.from({ length: 3000 }, (_, n) => ({ n, user: `u${n % 300}` })))
  const plain = await openViewed(file)
  t.equal((await plain.viewed.info()).index, undefined)
  const expected = await search(plain.viewed, 'user=u7')
  t.equal(expected.length, 10)
  await plain.close()
  await callCommand(['index', file, '--path', 'user'])
  const { viewed, close } = await openViewed(file)
  t.deepEqual((await viewed.info()).index, ['user'])
  t.deepEqual(await search(viewed, 'user=u7'), expected)
  t.deepEqual(await search(viewed, 'n>2997'), (await search(viewed, 'n>=2998')))
  const writer = open(file)
  const seq = await writer.append({ user: 'u7' })
  await writer.close()
  while ((await search(viewed, '')).length === 0 || (await viewed.info()).end !== seq) await new Promise(setImmediate)
  t.deepEqual(await search(viewed, 'user=u7'), [seq, ...expected])
  await close()
})
