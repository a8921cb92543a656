'use strict'
// The processor time of the command: beside a program that does the same with the API, and beside GNU cat and grep on
// the same records in a text file. Each is a process of its own, in turns; the medians count. Usage:
// node packages/millrace/test/speed [records] [runs]. It fails if a command takes more than 1 / 0.6 of the API's time.
// With 3,500,000 records the log has 1 GB.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { BIN } = require('../run-command')

const LEAST = 0.6
const API = path.join(__dirname, 'api.js')
const BATCH_COUNT = 2000
/** In no record, in a few, in each. */
const TEXTS = { rare: 'no such words', some: '"author":"@42"', all: '"likes"' }

main(Number(process.argv[2] ?? 200_000), Number(process.argv[3] ?? 5))

async function main (count, runs) {
  const folder = temporaryFolder()
  const [log, text] = ['big.log', 'big.ndjson'].map((name) => path.join(folder, name))
  await makeFiles(log, text, count)
  const command = (...words) => [process.execPath, BIN, ...words]
  const rows = [
    ['cat', command('cat', log), { API: [process.execPath, API, log, 'cat'], 'GNU cat': ['cat', text] }],
    ...Object.entries(TEXTS).map(([name, words]) => [
      `cat --grep, ${name}`, command('cat', log, '--grep', words), { 'GNU grep': ['grep', '-F', words, text] }, name === 'rare'
    ]),
    ['count --grep, some', command('count', log, '--grep', TEXTS.some), { 'GNU grep -c': ['grep', '-cF', TEXTS.some, text] }],
    ['count', command('count', log), { API: [process.execPath, API, log, 'count'] }],
    ['count --where', command('count', log, '--where', 'type=post'), { API: [process.execPath, API, log, 'count --where'] }],
    ['count --where, rare', command('count', log, '--where', 'type=none'), {}]
  ]
  const size = fs.statSync(log).size / 1e9
  console.log(`${count} records, ${size.toFixed(2)} GB; seconds of processor time`)
  for (const [name, words, others, mayBeNothing = false] of rows) {
    const all = { millrace: words, ...others }
    const times = Object.fromEntries(Object.keys(all).map((who) => [who, []]))
    for (let run = 0; run < runs; run++) {
      for (const [who, words] of Object.entries(all)) times[who].push(await measure(words, mayBeNothing))
    }
    const medians = Object.entries(times).map(([who, list]) => [who, median(list)])
    console.log(`${name.padEnd(20)} ${medians.map(([who, time]) => `${who} ${time.toFixed(2)}`).join(', ')}`)
    const { millrace, API: api = Infinity } = Object.fromEntries(medians)
    if (millrace > api / LEAST) process.exitCode = 1
  }
}

/** Records of about 285 bytes, whose words are drawn: what repeats would be learned by the processor. */
async function makeFiles (file, textFile, count) {
  const codec = { name: 'json', buffer: true, encode: (bytes) => bytes, decode: (bytes) => bytes }
  const log = OffsetLog(file, { codec, fsync: 'never' })
  const out = fs.openSync(textFile, 'w')
  const random = createRandom(1)
  const words = Array.from({ length: 500 }, (_, i) => (i * 7919 + 13).toString(36))
  for (let n = 0; n < count;) {
    const batch = []
    for (let i = 0; i < BATCH_COUNT && n < count; i++, n++) {
      const text = Array.from({ length: random(64) }, () => words[random(500)]).join(' ')
      batch.push(Buffer.from(`{"n":${n},"type":"${random(3) ? 'vote' : 'post'}","author":"@${random(97)}","level":${10 * (1 + random(6))},` +
        `"content":{"text":"${text}","likes":[${n},${n + 1}]}}`))
    }
    await log.append(batch)
    fs.writeSync(out, `${batch.join('\n')}\n`)
  }
  fs.closeSync(out)
  await log.close()
}

/** Seconds of processor time, until all of the output was read. */
function measure (words, mayBeNothing) {
  return new Promise((resolve, reject) => {
    // The shell says at the end what its child took.
    const child = spawn('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr.on('data', (text) => { said += text })
    child.stdout.resume()
    child.on('close', (code) => {
      // GNU grep that has found nothing ends with 1.
      if (code !== 0 && !(mayBeNothing && code === 1)) return reject(new Error(`${words.join(' ')} failed: ${said}`))
      const [user, system] = said.trim().split('\n').at(-1).split(' ').map(Number)
      resolve(user + system)
    })
  })
}

function median (times) {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]
}
