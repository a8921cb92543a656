'use strict'
// Commands on a folder in which a segment cannot be opened: what is before it is printed, and the exit code says that
// it is damaged; with --skip-damage, what is behind it, too.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, replacements } = require('@millrace/testkit')
const { callCommand } = require('./run-command')

const PLACES = { first: 0, middle: 1, newest: 2 }
const PER_SEGMENT = 3
const COUNT = PER_SEGMENT * 3

async function fill (folder) {
  const log = SegmentedLog(folder, { codec: jsonCodec })
  for (let n = 0; n < COUNT; n++) {
    if (n > 0 && n % PER_SEGMENT === 0) await log.roll()
    await log.append({ n })
  }
  const segments = await log.segments()
  await log.close()
  return segments.map(({ path }) => path)
}

const print = (numbers) => numbers.map((n) => `{"n":${n}}\n`).join('')

for (const [kind, damage] of Object.entries(replacements)) {
  for (const [where, place] of Object.entries(PLACES)) {
    // Nothing tells that it was not dropped, or that there was another one.
    if (kind === 'gone' && where !== 'middle') continue
    tape(`broken segment: cat, count, verify and tail where the ${where} one is or has ${kind}`, async (t) => {
      const folder = newPath('logs')
      const files = await fill(folder)
      damage(files[place])
      const all = Array.from({ length: COUNT }, (_, n) => n)
      const before = all.slice(0, place * PER_SEGMENT)
      const left = all.filter((n) => Math.floor(n / PER_SEGMENT) !== place)
      const runs = [
        [['cat', folder], print(before)],
        [['cat', folder, '--skip-damage'], print(left)],
        [['count', folder], ''],
        [['count', folder, '--skip-damage'], `${left.length}\n`],
        [['verify', folder, '--quiet'], ''],
        [['info', folder], null],
        // It reads backwards, and what it was asked for lies before the newest segment.
        [['tail', folder, '-n', '20'], where === 'newest' ? print(left) : ''],
        [['tail', folder, '-n', '20', '--skip-damage'], print(left)]
      ]
      const results = await Promise.all(runs.map(([words]) => callCommand(words)))
      for (const [index, { code, stdout, stderr }] of results.entries()) {
        const [[name, , ...more], expected] = runs[index]
        const what = [name, ...more].join(' ')
        t.equal(code, 1, `${what}: ${stderr}`)
        if (expected === null) t.match(stdout, /^damage +\S/m, `${what}: says so`)
        else t.equal(stdout, expected, what)
        if (!['verify', 'info'].includes(name)) t.ok(stderr.startsWith('millrace: ') && !/bytes 0 to 0/.test(stderr), `${what}: says so`)
      }
    })
  }
}

tape('broken segment: verify takes a newest one of lines that is empty yet, and none that has lost its lines', async (t) => {
  const folder = newPath('logs')
  const verify = async () => (await callCommand(['verify', folder])).code
  const log = SegmentedLog(folder, { codec: jsonCodec, framing: 'lines' })
  await log.ready()
  t.equal(await verify(), 0, 'of an empty log')
  await log.append({ n: 0 })
  await log.roll()
  t.equal(await verify(), 0, 'behind another one')
  await log.append({ n: 1 })
  const segments = await log.segments()
  await log.close()
  t.equal(await verify(), 0, 'once it is closed')
  for (const { path } of segments) {
    const bytes = fs.readFileSync(path)
    fs.truncateSync(path, 0)
    t.equal(await verify(), 1, 'without its lines')
    fs.writeFileSync(path, bytes)
  }
})
