'use strict'
// A size is said in one way: by the command, by the viewer and in the charts.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const bench = require('../../../bench/lib/report')
const { formatSize } = require('../lib/cli/text')

const ROOT = path.join(__dirname, '..', '..', '..')

tape('formatSize: the command and the viewer say the same of a size, and the bench in the same units', async (t) => {
  const { formatSize: formatInViewer } = await import('../viewer/text.mjs')
  const powers = Array.from({ length: 16 }, (_, power) => 10 ** power)
  const sizes = [...powers.flatMap((size) => [size - 1, size, size + 1]), 9_995, 99_949, 99_950, 999_499, 999_500,
    999_600, 999_499_999, 999_500_000, 33_004, 1_536, 5e15]
  for (const size of sizes) {
    const text = formatSize(size)
    t.equal(formatInViewer(size), text, text)
    t.match(text, /^(?:\d{1,3} bytes|(?:\d\.\d\d|\d\d\.\d|\d{3,4}) (?:KB|MB|GB|TB))$/, `${size}`)
    const [amount, unit] = text.split(' ')
    if (unit === 'TB' && size > 1e15) continue
    t.ok(Math.abs(Number(amount) * { bytes: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }[unit] - size) <= size / 100, text)
    const [charted, unitCharted] = bench.formatSize(size).split(' ')
    t.deepEqual([unitCharted, Number(charted)], [unit, Number(amount)], bench.formatSize(size))
  }
  t.deepEqual([0, 999, 1000, 1536, 33_004, 999_600, 1e9].map(formatSize), ['0 bytes', '999 bytes', '1.00 KB', '1.54 KB', '33.0 KB', '1.00 MB', '1.00 GB'])
})

tape('sizes: no text of the project has another spelling of KB', (t) => {
  const folders = ['packages/millrace/viewer', 'packages/millrace/lib', 'bench/lib', 'bench/tables', 'bench/notes', 'docs', 'images']
  const listFiles = (folder) => fs.readdirSync(path.join(ROOT, folder), { recursive: true })
  const files = folders.flatMap((folder) => listFiles(folder).map((name) => path.join(folder, name)))
  const texts = files.filter((name) => /\.(?:js|mjs|html|md|svg)$/.test(name)).map((name) => path.join(ROOT, name))
  // The kernel says kB, and means KiB.
  const found = texts.filter((file) => /\d[ \u00a0]?kB\b|'kB'/.test(fs.readFileSync(file, 'utf8')))
  t.deepEqual(found.map((file) => path.relative(ROOT, file)), [])
  t.end()
})
