'use strict'
// Disks that fail: 503 for what was not stored, and buffered records are kept and tried again.

const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { faultyStorage, until } = require('@millrace/testkit')
const { serve } = require('./helpers')

const failure = (code) => Object.assign(new Error(`${code}: as if`), { code, syscall: 'write' })

async function serveFaulty (t) {
  const faults = {}
  const storage = faultyStorage(fileStorage, ({ name }) => faults[name] && { error: failure(faults[name]) })
  const served = await serve(t, { log: { storage, fsync: 'never' }, bufferMs: 10 })
  await served.post('/v1/logs/a', '"first"')
  return { ...served, faults }
}

async function valuesOf ({ read }) {
  const { status, records, body } = await read('/v1/logs/a')
  return status === 200 ? records.map(({ value }) => value) : [status, body]
}

tape('failure: while the disk is full, written is 503 and buffered records wait', async (t) => {
  const served = await serveFaulty(t)
  const { post, faults, reports } = served
  faults.write = 'ENOSPC'
  const { status, headers, body } = await post('/v1/logs/a', '"refused"')
  t.deepEqual([status, headers.get('retry-after')], [503, '1'])
  t.notOk(JSON.stringify(body).includes('as if'), 'the answer says nothing of the machine')
  t.equal((await post('/v1/logs/a?ack=buffered', '"kept 1"')).status, 202)
  t.equal((await post('/v1/logs/a?ack=buffered', '"kept 2"')).status, 202)
  await until(() => reports.some(({ err }) => err.code === 'ENOSPC'))
  delete faults.write
  await until(async () => (await valuesOf(served)).length === 3)
  t.deepEqual(await valuesOf(served), ['first', 'kept 1', 'kept 2'])
  t.equal((await post('/v1/logs/a', '"after"')).status, 200)
})

tape('failure: a sync fails: 503, then the log is opened again', async (t) => {
  const served = await serveFaulty(t)
  const { post, faults } = served
  faults.sync = 'EIO'
  t.equal((await post('/v1/logs/a?ack=synced', '"unknown"')).status, 503)
  delete faults.sync
  await until(async () => (await post('/v1/logs/a?ack=synced', '"after"')).status === 200)
  const values = await valuesOf(served)
  t.deepEqual([values[0], values.at(-1)], ['first', 'after'])
})

tape('failure: other logs are served meanwhile', async (t) => {
  const { post, faults, ask } = await serveFaulty(t)
  faults.sync = 'EIO'
  await post('/v1/logs/a?ack=synced', '1')
  delete faults.sync
  t.equal((await post('/v1/logs/b', '1')).status, 200)
  t.equal((await ask('/readyz')).status, 200)
})

tape('failure: readers pass the seqs that a failed sync took, both ways', async (t) => {
  const served = await serveFaulty(t)
  const { post, read, faults } = served
  for (let round = 0; round < 2; round++) {
    faults.sync = 'EIO'
    await post('/v1/logs/a?ack=synced', '"unknown"')
    delete faults.sync
    await until(async () => (await post('/v1/logs/a?ack=synced', `"after ${round}"`)).status === 200)
  }
  const forward = (await read('/v1/logs/a')).records.map(({ value }) => value)
  const backward = (await read('/v1/logs/a?reverse=true')).records.map(({ value }) => value)
  t.deepEqual(backward.reverse(), forward)
  t.ok(['first', 'after 0', 'after 1'].every((value) => forward.includes(value)), forward.join())
  const stepped = []
  for (let query = 'limit=1', end; end?.reason !== 'end'; query = `limit=1&${new URLSearchParams(end.next)}`) {
    const answer = await read(`/v1/logs/a?${query}`)
    end = answer.end
    stepped.push(...answer.records.map(({ value }) => value))
  }
  t.deepEqual(stepped, forward, 'step by step')
})
