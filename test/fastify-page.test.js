'use strict'
// docs/cookbook/fastify.md as a service that is stopped by SIGTERM under load: the lines of every request that was
// answered are in the log, and the forwarder has sent every warning.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder, until } = require('@millrace/testkit')
const { examplesOf } = require('./readme-examples')

const root = path.join(__dirname, '..')
const BIN = path.join(root, 'packages', 'millrace', 'bin', 'millrace.js')
const WARNING = 'there is no such order'
const TIMEOUT_MS = 120_000

/** The program of the page, up to the requests that it makes itself; then it listens. */
function makeService () {
  const [program] = examplesOf(fs.readFileSync(path.join(root, 'docs', 'cookbook', 'fastify.md'), 'utf8'))
  const [service, requests] = program.split("await app.inject('/orders/1')")
  if (requests === undefined) throw new Error('the page has no first request of its own')
  const folder = temporaryFolder()
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'junction')
  fs.writeFileSync(path.join(folder, 'service.mjs'), `${service}\nconsole.log(await app.listen({ port: 0, host: '127.0.0.1' }))\n`)
  return folder
}

tape('docs/cookbook/fastify.md: SIGTERM loses no line of an answered request, and no warning', { skip: process.platform === 'win32' }, async (t) => {
  const folder = makeService()
  const child = spawn(process.execPath, ['service.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => { stdout += data })
  child.stderr.on('data', (data) => { stderr += data })
  const ended = once(child, 'close')
  await until(() => stdout.includes('http://') || child.exitCode !== null)
  const [url] = /http:\S+/.exec(stdout) ?? [stderr]
  const answered = []
  let warnings = 0
  const client = async (id) => {
    for (let n = 0; ; n++) {
      const order = n % 3 === 0 ? '0' : `${id}-${n}`
      const status = await fetch(`${url}/orders/${order}`).then(async (answer) => answer.ok && await answer.json() && 200, () => null)
      if (status !== 200) return
      if (order === '0') warnings++
      else answered.push(`/orders/${order}`)
    }
  }
  const clients = ['a', 'b', 'c', 'd'].map(client)
  await until(() => answered.length > 50 || child.exitCode !== null)
  child.kill('SIGTERM')
  const [code, signal] = await ended
  await Promise.all(clients)
  t.deepEqual([code, signal], [0, null], `the handler ends the process ${stderr}`)
  const { stdout: text } = spawnSync(process.execPath, [BIN, 'cat', 'service-logs'], { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 })
  const lines = text.trim().split('\n').map((line) => JSON.parse(line))
  const logged = new Set(lines.map(({ req }) => req?.url))
  t.deepEqual(answered.filter((order) => !logged.has(order)), [], `${answered.length} answers`)
  const warned = lines.filter(({ msg }) => msg === WARNING).length
  t.ok(warned >= warnings, `${warned} warnings in the log, ${warnings} answered`)
  t.ok(stdout.split(WARNING).length - 1 >= warned, 'the sink has had each')
})
