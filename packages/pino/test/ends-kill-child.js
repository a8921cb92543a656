'use strict'
// Logs numbered lines until it is killed, or ends itself. Tells on standard output how many lines were logged, and of
// how many it was promised that no death of the process takes them.
// Usage: node ends-kill-child.js <folder> <options as JSON> <how it ends> <after how many lines>

const fs = require('node:fs')
const pino = require('pino')
const { destination } = require('..')

const [, , folder, options, end, lastCount] = process.argv
const to = destination(folder, { onReport: () => {}, ...JSON.parse(options) })
const logger = pino({ base: null, timestamp: false }, to)
let n = 0
let isReady = false

const endings = {
  exit: () => process.exit(0),
  throw: () => { throw new Error('planned') },
  reject: () => { Promise.reject(new Error('planned')) },
  abort: () => process.abort(),
  nothing: () => clearTimeout(timer)
}
let timer

function step () {
  timer = setTimeout(step, n % 4 === 0 ? 1 : 0)
  for (let count = 0; count < 10; count++) logger.info({ n: n++, text: 'x'.repeat(n * 7 % 500) })
  fs.writeSync(1, `${isReady ? 'safe' : 'logged'} ${n}\n`)
  if (n >= Number(lastCount)) endings[end]?.()
}

// Whatever was logged before is safe from then on.
to.ready().then(() => {
  isReady = true
  fs.writeSync(1, `safe ${n}\n`)
})
step()
