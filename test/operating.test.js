'use strict'
// What docs/guides/operating.md promises, tried: a restore, files that go away under a reader, and the example for
// Electron.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { verify } = require('@millrace/repair')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, failureOf, temporaryFolder, until } = require('@millrace/testkit')
const { examplesOf } = require('./readme-examples')

const page = fs.readFileSync(path.join(__dirname, '..', 'docs', 'guides', 'operating.md'), 'utf8')

/** For the file of an example. */
function folderWithPackages () {
  const folder = temporaryFolder()
  fs.mkdirSync(path.join(folder, 'node_modules'))
  const packages = path.join(__dirname, '..', 'node_modules', '@millrace')
  fs.symlinkSync(packages, path.join(folder, 'node_modules', '@millrace'), 'junction')
  return folder
}

tape('operating: a backup that was made under load is restored with the same records and seqs', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'orders', 'orders.log')
  const backup = path.join(folder, 'backup.log')
  const log = OffsetLog(file, { codec: jsonCodec })
  const seqs = []
  for (let n = 0; n < 500; n++) seqs.push(await log.append({ n, text: 'order '.repeat(n % 50) }))
  await log.del(seqs[7])
  const copied = log.snapshot(backup)
  const later = Array.from({ length: 200 }, (_, n) => log.append({ later: n }))
  await copied
  await Promise.all(later)
  await log.close()
  // A disk that has lost the middle of the file.
  fs.writeFileSync(file, fs.readFileSync(file).fill(0, 33_000, 60_000))
  const damaged = OffsetLog(file, { codec: jsonCodec })
  t.equal((await failureOf(() => collect(damaged.stream()))).code, 'ERR_LOG_CORRUPT')
  await damaged.close()

  fs.renameSync(path.dirname(file), path.join(folder, 'orders.broken'))
  fs.mkdirSync(path.dirname(file))
  const copy = OffsetLog(backup, { flags: 'r' })
  await copy.snapshot(file)
  t.equal((await failureOf(() => copy.snapshot(file))).code, 'EEXIST', 'nothing is overwritten')
  await copy.close()

  t.ok((await verify(file)).isSound)
  const restored = OffsetLog(file, { codec: jsonCodec })
  const items = await collect(restored.stream())
  const expected = seqs.map((seq, n) => ({ seq, value: { n, text: 'order '.repeat(n % 50) } })).filter(({ value }) => value.n !== 7)
  t.deepEqual(items.slice(0, 499), expected, 'all that was there when the backup began')
  t.ok(items.slice(499).every(({ value }, n) => value.later === n), `and ${items.length - 499} of what came meanwhile, in order`)
  t.equal((await failureOf(() => restored.get(seqs[7]))).code, 'flumelog:deleted')
  t.equal(restored.recovery, null)
  t.equal(restored.durable.value, restored.since.value)
  t.ok(await restored.append({ after: true }) > items.at(-1).seq)
  await restored.close()
})

tape('operating: a backup of compressed segments is restored: its files were plain, under the names of compressed ones', async (t) => {
  const example = examplesOf(page).find((text) => text.includes('async function backUp'))
  const file = path.join(folderWithPackages(), 'backup.js')
  fs.writeFileSync(file, example.replace(/^async function main[^]*/m, 'exports.backUp = backUp'))
  const { backUp } = require(file)
  // Text that begins with no object is a log of lines by the names alone, once it is compressed.
  for (const framing of ['checked', 'lines']) {
    const folder = path.join(temporaryFolder(), 'journal')
    const backup = `${folder}-backup`
    const log = SegmentedLog(folder, { framing, compress: 'gzip' })
    const lines = Array.from({ length: 300 }, (_, n) => Buffer.from(`line ${n} of a text`))
    const seqs = await log.append(lines, { seqs: true })
    await backUp(log, backup)
    await until(async () => (await log.segments())[0].compressed !== null)
    await log.append(Buffer.from('the last line'))
    await backUp(log, backup)
    await until(async () => (await log.segments()).slice(0, -1).some(({ compressed }) => compressed !== null))
    fs.rmSync(backup, { recursive: true })
    await backUp(log, backup)
    await log.close()
    const restored = SegmentedLog(backup, { framing })
    t.equal(await restored.count(), 301, framing)
    t.equal(String(await restored.get(seqs[299])), 'line 299 of a text')
    t.equal(restored.recovery, null)
    await restored.close()
  }
})

tape('operating: a damaged backup is not restored', async (t) => {
  const folder = temporaryFolder()
  const backup = path.join(folder, 'backup.log')
  const log = OffsetLog(backup)
  for (let n = 0; n < 100; n++) await log.append(Buffer.alloc(1000, n))
  await log.close()
  const bytes = fs.readFileSync(backup)
  bytes[70_000] ^= 1
  fs.writeFileSync(backup, bytes)
  const copy = OffsetLog(backup, { flags: 'r' })
  t.equal((await failureOf(() => copy.snapshot(path.join(folder, 'restored.log')))).code, 'ERR_LOG_CORRUPT')
  await copy.close()
  t.deepEqual(fs.readdirSync(folder), ['backup.log'])
})

const isWindows = process.platform === 'win32'

tape('operating: an open reader reads on in a log that was removed', { skip: isWindows }, async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'old.log')
  const log = OffsetLog(file)
  for (let n = 0; n < 2000; n++) log.append(Buffer.alloc(1000, n))
  await log.close()
  const reader = OffsetLog(file, { flags: 'r', cache: 0 })
  await reader.ready()
  let count = 0
  for await (const { seq } of reader.stream()) {
    if (count++ === 10) fs.rmSync(file)
    if (count === 1000) t.equal((await reader.get(seq)).length, 1000)
  }
  t.equal(count, 2000)
  t.equal((await collect(reader.stream())).length, 2000)
  await reader.close()
})

// Stands in for Electron, as far as quitting goes: `quit` emits both events, has no effect while it emits them, and
// ends the process unless a handler prevents it.
const ELECTRON = `
const { EventEmitter } = require('node:events')
const app = new EventEmitter()
let isQuitting = false
const isPrevented = (name) => {
  let isPrevented = false
  app.emit(name, { preventDefault: () => { isPrevented = true } })
  return isPrevented
}
app.getPath = () => __dirname
app.requestSingleInstanceLock = () => true
app.quit = () => {
  if (isQuitting) return
  isQuitting = true
  isQuitting = !isPrevented('before-quit') && !isPrevented('will-quit')
  if (isQuitting) process.exit(0)
}
setTimeout(app.quit, 100)
setTimeout(() => process.exit(1), 20_000)
exports.app = app
`

tape('operating: the example for Electron closes the log before the application ends', (t) => {
  const folder = folderWithPackages()
  const electron = path.join(folder, 'node_modules', 'electron')
  fs.mkdirSync(electron, { recursive: true })
  fs.writeFileSync(path.join(electron, 'index.js'), ELECTRON)
  const [example] = examplesOf(page, 'javascript')
  fs.writeFileSync(path.join(folder, 'main.js'), example)
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000 }
  const { status, stderr } = spawnSync(process.execPath, ['main.js'], options)
  t.equal(status, 0, `it ends ${stderr}`)
  t.deepEqual(fs.readdirSync(path.join(electron, 'events')), ['events.log'], 'the log has given its lock back')
  t.end()
})
