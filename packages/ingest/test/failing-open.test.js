'use strict'
// Every call to the storage of a log fails in turn while a server opens it.

const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('..')

/** A storage of which one read or opening fails, in the folder of a log. */
function failingStorage () {
  const state = { at: Infinity, calls: 0, storage: null }
  const isHit = (file) => /\d{16}-\w+\.log$/.test(file) && state.calls++ === state.at
  const failure = () => Object.assign(new Error('EIO'), { code: 'EIO' })
  const watch = (file, handle) => ({
    ...handle,
    read: (...args) => isHit(file) ? setImmediate(args.at(-1), failure()) : handle.read(...args),
    readSync: (...args) => {
      if (isHit(file)) throw failure()
      return handle.readSync(...args)
    }
  })
  const open = (file, options, cb) => {
    if (isHit(file)) setImmediate(cb, failure())
    else fileStorage.open(file, options, (err, handle) => cb(err, handle && watch(file, handle)))
  }
  state.storage = { ...fileStorage, open }
  return state
}

tape('open: whatever call fails for a moment when a log is opened, the next request opens it: it was locked by its own server', async (t) => {
  const folder = temporaryFolder()
  let failedCount = 0
  for (let at = 0, isOver = false; !isOver; at++) {
    const state = failingStorage()
    const server = createIngest({ folder, log: { storage: state.storage }, onReport: () => {} })
    await server.ready()
    const post = async () => {
      const headers = { host: 'localhost', 'content-type': 'application/json' }
      return (await server.app.inject({ method: 'POST', url: '/v1/logs/a', headers, payload: '{"n":1}' })).statusCode
    }
    state.at = at === 0 ? Infinity : at - 1
    const first = await post()
    isOver = at > 0 && state.calls <= state.at
    state.at = Infinity
    if (first >= 300) failedCount++
    const second = await post()
    if (second >= 300) t.fail(`call ${at - 1}: ${first}, then ${second}`)
    await server.close()
  }
  t.ok(failedCount > 0, `${failedCount} calls failed`)
})
