'use strict'
// In a process or a worker thread of its own: opens a locked file and closes it, as it is told.

const { parentPort } = require('node:worker_threads')
const { BlockFile } = require('..')
const { recordStorage } = require('./record-storage')

const send = parentPort ? (message) => parentPort.postMessage(message) : (message) => process.send(message)
let file = null

;(parentPort ?? process).on('message', ({ open, isByRecord }) => {
  const answer = (err) => send(err ? { code: err.code, message: err.message, holder: err.holder } : { code: 'none' })
  if (open === undefined) return file.close(answer)
  file = BlockFile(open, { lock: true, storage: isByRecord ? recordStorage : undefined })
  file.ready(answer)
})

// A process whose parent is gone must not stay.
if (!parentPort) process.on('disconnect', () => process.exit())
