'use strict'
// A forwarding process is killed again and again while it forwards. Nothing is missing; what comes twice is the batch
// that was being sent, with the same key.

const { spawn } = require('node:child_process')
const http = require('node:http')
const path = require('node:path')
const tape = require('tape')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { fill, makeLog, range, readBody } = require('./helpers')

const seed = Date.now() % 2 ** 31
const KILLS = inQuickRuns(40)
// Enough batches of 20 for all kills.
const COUNT = 300 * KILLS

tape(`kill: ${KILLS} times, none missing, duplicates only of the batch that was being sent, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const log = makeLog()
  await fill(log, COUNT)
  /** The requests, in order. @type {Array<{ key: string, numbers: number[] }>} */
  const requests = []
  let child = null
  let kills = 0
  let left = 3
  const server = http.createServer(async (request, response) => {
    const body = await readBody(request)
    if (body === null) return
    const text = String(body)
    requests.push({ key: request.headers['idempotency-key'], numbers: text.trim().split('\n').map((line) => JSON.parse(line).n) })
    const kill = () => child?.kill('SIGKILL')
    if (kills < KILLS && --left < 0) {
      kills++
      left = 1 + random(8)
      // Before the answer, while it is read, or while the cursor advances.
      if (random(2) === 0) kill()
      else setTimeout(kill, random(4))
    }
    response.end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}`
  let status = null
  let runs = 0
  while (status !== 0 && runs++ < 3 * KILLS) {
    child = spawn(process.execPath, [path.join(__dirname, 'forwarding-process.js'), log.filename, url], { stdio: ['ignore', 'ignore', 'inherit'] })
    status = await new Promise((resolve) => child.once('exit', resolve))
  }
  t.equal(status, 0)
  t.ok(kills >= KILLS, `${kills} kills, ${runs} runs`)
  /** @type {string | null} */
  let lastKey = null
  let next = 0
  let again = 0
  for (const { key, numbers } of requests) {
    if (key === lastKey) {
      again++
      if (numbers.at(-1) !== next - 1) t.fail(`${key} came again with other records`)
      continue
    }
    if (numbers[0] !== next || numbers.at(-1) !== next + numbers.length - 1) t.fail(`${numbers[0]} came instead of ${next}`)
    next += numbers.length
    lastKey = key
  }
  t.equal(next, COUNT, 'a server that remembers the last key has every record once')
  t.ok(again <= runs, `${again} batches came again`)
  t.deepEqual([...new Set(requests.flatMap(({ numbers }) => numbers))], range(0, COUNT))
  server.closeAllConnections()
  server.close()
  await log.close()
})
