'use strict'
// A relative path means what it meant when it was given, whatever the working folder is afterwards.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { collect, failureOf, temporaryFolder, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { repair, verify } = require('@millrace/repair')

const HOME = process.cwd()

/** Two folders, with a log of the same name in each. */
async function makeFolders (options) {
  const root = fs.realpathSync(temporaryFolder())
  const folders = ['a', 'b'].map((name) => path.join(root, name))
  for (const folder of folders) {
    const log = OffsetLog(path.join(folder, 'x.log'), options)
    await log.append([Buffer.from(`${path.basename(folder)}1`), Buffer.from(`${path.basename(folder)}2`)])
    await log.close()
  }
  return folders
}

/** Runs an action in one folder, and goes to the other as soon as it has returned. */
function runIn ([folder, next], action) {
  process.chdir(folder)
  const result = action()
  process.chdir(next)
  return result
}

async function textsOf (log) {
  return (await collect(log.stream({ seqs: false }))).map(String)
}

for (const options of [{ framing: 'checked' }, { framing: 'offset48' }, { framing: 'offset32' }]) {
  const name = options.framing
  tape(`working folder: a reader goes on with its own file (${name})`, async (t) => {
    const folders = await makeFolders(options)
    const reader = runIn(folders, () => OffsetLog('x.log', { ...options, flags: 'r' }))
    await reader.ready()
    t.deepEqual(await textsOf(reader), ['a1', 'a2'])
    await runIn([folders[1], HOME], () => reader.snapshot('snap'))
    const snap = OffsetLog(path.join(folders[1], 'snap'), { flags: 'r' })
    t.deepEqual(await textsOf(snap), ['a1', 'a2'], 'a snapshot is of its own log, and where it was wanted')
    await snap.close()
    const writer = OffsetLog(path.join(folders[0], 'x.log'), options)
    const seq = await writer.append(Buffer.from('a3'))
    await until(() => reader.since.value === seq)
    if (options.framing === 'checked') {
      await writer.del(await firstSeq(writer))
      await writer.compact()
      const last = await writer.append(Buffer.from('a4'))
      await until(() => reader.since.value === last)
      t.deepEqual(await textsOf(reader), ['a2', 'a3', 'a4'], 'it follows through a compaction')
    } else {
      t.deepEqual(await textsOf(reader), ['a1', 'a2', 'a3'])
    }
    await writer.close()
    await reader.close()
    process.chdir(HOME)
  })

  tape(`working folder: a writer writes its own file (${name})`, async (t) => {
    const folders = await makeFolders(options)
    const before = fs.readdirSync(folders[1])
    const bytes = fs.readFileSync(path.join(folders[1], 'x.log'))
    const log = runIn(folders, () => OffsetLog('x.log', options))
    t.equal(log.filename, path.join(folders[0], 'x.log'))
    await log.append(Buffer.from('a3'))
    t.equal((await failureOf(() => OffsetLog(path.join(folders[0], 'x.log'), options).ready()))?.code, 'ERR_LOG_LOCKED')
    if (options.framing === 'checked') {
      await log.del(await firstSeq(log))
      await log.compact()
    }
    t.deepEqual(await textsOf(log), options.framing === 'checked' ? ['a2', 'a3'] : ['a1', 'a2', 'a3'])
    await log.sync()
    await log.close()
    t.deepEqual(fs.readdirSync(folders[0]), before)
    t.deepEqual(fs.readdirSync(folders[1]), before)
    t.ok(fs.readFileSync(path.join(folders[1], 'x.log')).equals(bytes))
    process.chdir(HOME)
  })
}

tape('working folder: a new log, in a new folder', async (t) => {
  const folders = await makeFolders({})
  const log = runIn(folders, () => OffsetLog('new/y.log'))
  await log.append(Buffer.from('y'))
  await log.close()
  t.ok(fs.existsSync(path.join(folders[0], 'new', 'y.log')))
  t.deepEqual(fs.readdirSync(folders[1]), ['x.log'])
  process.chdir(HOME)
})

tape('working folder: verify and repair', async (t) => {
  const folders = await makeFolders({})
  fs.truncateSync(path.join(folders[1], 'x.log'), 32768)
  t.equal((await runIn(folders, () => verify('x.log'))).records, 2)
  const report = await runIn(folders, () => repair('x.log', 'out.log', { write: true }))
  t.equal(report.recovered, 2)
  t.deepEqual(folders.map((folder) => fs.readdirSync(folder)), [['out.log', 'x.log'], ['x.log']])
  process.chdir(HOME)
})

tape('snapshot: a file with another id in the place of the log is not copied', async (t) => {
  const [folder, other] = await makeFolders({})
  const file = path.join(folder, 'x.log')
  const log = OffsetLog(file)
  await log.ready()
  fs.copyFileSync(path.join(other, 'x.log'), file + '.copy')
  fs.renameSync(file + '.copy', file)
  const err = await failureOf(() => log.snapshot(path.join(folder, 'snap')))
  t.equal(err?.code, 'ERR_LOG_CORRUPT')
  t.match(err?.message, /is not the file that this log reads/)
  t.notOk(fs.existsSync(path.join(folder, 'snap')))
  await failureOf(() => log.close())
})

async function firstSeq (log) {
  const { value } = await log.stream({ values: false, limit: 1 })[Symbol.asyncIterator]().next()
  return value
}
