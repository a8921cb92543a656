// @ts-nocheck
'use strict'
// A builder in a Worker, that fails at one of its steps: each message, and each call for a run file, is one.

const { parentPort, workerData } = require('node:worker_threads')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { runBuilder } = require('..')

const { file, at, how } = workerData
const fail = {
  exit: () => process.exit(3),
  throw: () => setImmediate(() => { throw new Error('mine') }),
  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
let stepCount = 0

function step () {
  if (++stepCount === at) fail[how]()
}

function withSteps (object, names) {
  const before = Object.fromEntries(names.map((name) => [name, object[name]]))
  const after = Object.fromEntries(names.map((name) => [name, (...args) => {
    step()
    return before[name].apply(object, args)
  }]))
  return Object.assign(Object.create(object), after)
}

const storage = Object.create(fileStorage)
storage.open = (path, options, cb) => {
  if (!path.includes('.run')) return fileStorage.open(path, options, cb)
  step()
  fileStorage.open(path, options, (err, handle) => {
    cb(err, handle && withSteps(handle, ['read', 'readSync', 'write', 'sync', 'close']))
  })
}

const port = {
  postMessage: (...args) => {
    step()
    parentPort.postMessage(...args)
  },
  on: (event, listener) => parentPort.on(event, (message) => {
    step()
    listener(message)
  }),
  off: () => {}
}

runBuilder(port, (index) => OffsetLog(file, { codec: jsonCodec, flags: 'r', storage, index }))
