'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const http = require('node:http')
const tape = require('tape')
const { collect, failureOf, newPath, zero } = require('@millrace/testkit')
const millrace = require('..')
const { callCommand, runCommand } = require('./run-command')

const { SegmentedLog, jsonCodec, open } = millrace

/** @returns {Promise<string>}  the file of a log with posts and votes */
async function makeLog (count = 10) {
  const file = newPath('events.log')
  const log = open(file)
  await log.append(Array.from({ length: count }, (_, n) => ({ type: ['post', 'vote'][n % 2], n })))
  await log.close()
  return file
}

tape('tour: open makes a log of JSON in a file', async (t) => {
  const file = newPath('events.log')
  const log = open(file)
  const seq = await log.append({ type: 'post', text: 'hello' })
  t.deepEqual(await log.get(seq), { type: 'post', text: 'hello' })
  t.equal((await failureOf(async () => collect(log.stream({ limt: 1 })))).code, 'ERR_INVALID_ARGUMENT', 'a misspelt option')
  await log.close()
  const reader = open(file, { flags: 'r' })
  t.equal(await reader.count(), 1)
  await reader.close()
})

tape('tour: a codec has a name, or is your own', async (t) => {
  const log = open(newPath('dates.log'), { codec: 'binary' })
  await log.append({ when: new Date(0) })
  t.deepEqual((await log.last()).value, { when: new Date(0) })
  await log.close()
})

tape('tour: a folder of segments', async (t) => {
  const log = SegmentedLog(newPath('events'), { codec: jsonCodec, segmentDay: 'UTC', maxSize: 100 * 2 ** 20 })
  await log.append({ type: 'post', text: 'hello' })
  t.equal(await log.count(), 1)
  await log.close()
})

tape('tour: the package has what most programs need', (t) => {
  const names = ['OffsetLog', 'SegmentedLog', 'jsonCodec', 'binaryCodec', 'verify', 'repair', 'convert', 'openSource', 'LogError', 'codes']
  for (const name of names) t.ok(millrace[name], name)
  t.end()
})

tape('tour: the command prints records, and counts them', async (t) => {
  const file = await makeLog()
  const cat = await callCommand(['cat', file, '--where', 'type=post'])
  t.deepEqual(cat.stdout.trim().split('\n').map((line) => JSON.parse(line).n), [0, 2, 4, 6, 8])
  t.equal((await callCommand(['count', file])).stdout.trim(), '10')
  t.match((await callCommand(['--help'])).stdout, /verify/)
  t.equal((await callCommand(['no-command'])).code, 2)
})

tape('tour: the command verifies and repairs', async (t) => {
  const file = await makeLog(20_000)
  t.equal((await callCommand(['verify', file])).code, 0)
  zero(file, 65536, 66048)
  const verify = await callCommand(['verify', file])
  t.equal(verify.code, 1)
  t.match(verify.stdout, /damaged in 1 range/)
  t.match((await callCommand(['repair', file])).stdout, /this was a dry run/)
  t.notOk(fs.existsSync(`${file}.repaired`))
  await callCommand(['repair', file, '--write'])
  t.equal((await callCommand(['verify', `${file}.repaired`])).code, 0)
})

tape('tour: the viewer serves a page to whoever has its URL', async (t) => {
  const file = await makeLog()
  let printed = ''
  const onSpawn = (child) => child.stdout.on('data', async (chunk) => {
    printed += chunk
    const [url] = printed.match(/http:\/\/127\.0\.0\.1:\d+\/\S*/) ?? []
    if (url === undefined || child.isAsked) return
    child.isAsked = true
    t.equal((await fetch(url)).status, 200)
    const stranger = http.get(new URL('/', url), { headers: { Host: 'example.com' } }, ({ statusCode }) => {
      t.ok(Number(statusCode) >= 400, 'another host name is refused')
      stranger.destroy()
      child.kill()
    })
  })
  await runCommand(['view', file], { input: null, onSpawn })
  t.match(printed, /http:/)
})
