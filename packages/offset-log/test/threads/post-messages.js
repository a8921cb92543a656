'use strict'
// A task that posts messages of its own through the thread's port, and listens to it.

const { parentPort } = require('node:worker_threads')

parentPort.on('message', () => parentPort.postMessage('heard'))

module.exports = ({ closes = false } = {}) => {
  let count = 0
  return {
    onRecords (chunk) {
      count += chunk.count
      parentPort.postMessage({ read: null, result: 'not an answer' })
    },
    end () {
      for (let index = 0; index < 20; index++) parentPort.postMessage({ result: index })
      if (closes) parentPort.close()
      return { count }
    }
  }
}
