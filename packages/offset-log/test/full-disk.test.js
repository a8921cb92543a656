'use strict'
// A disk that is really full: a small file system in memory, where the user who runs the tests may mount one.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { collect, createRandom, failureOf, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const DISK_SIZE = 1024 * 1024
const FRAMINGS = ['checked', 'offset32']
const MODES = ['always', 'interval', 'never']

/** @returns {string | null}  a folder on a small disk of its own; null where none can be mounted */
function mountSmallDisk () {
  const folder = temporaryFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  process.prependListener('exit', () => execFileSync('umount', ['-l', folder], { stdio: 'ignore' }))
  return folder
}

const disk = mountSmallDisk()

/**
 * @param {string} title
 * @param {(t: import('tape').Test, folder: string) => Promise<void>} run
 */
function test (title, run) {
  tape(`full disk: ${title}`, { skip: disk === null && 'no file system may be mounted here' }, async (t) => {
    const folder = fs.mkdtempSync(path.join(disk, 'test-'))
    await run(t, folder)
    fs.rmSync(folder, { recursive: true })
  })
}

/** Takes all space that is left but some. @param {string} folder  @param {number} left  in bytes */
function fill (folder, left = 0) {
  const file = path.join(folder, 'filler')
  const { bavail, bsize } = fs.statfsSync(folder)
  fs.writeFileSync(file, Buffer.alloc(Math.max(0, bavail * bsize - left), 1))
  return () => fs.unlinkSync(file)
}

for (const framing of FRAMINGS) {
  for (const fsync of MODES) {
    test(`${framing}, fsync ${fsync}: appends fail with a code, go on when there is room, and lose nothing`, async (t, folder) => {
      const random = createRandom(7)
      const file = path.join(folder, 'log')
      const log = OffsetLog(file, { framing, fsync })
      await log.ready()
      const expected = []
      const free = fill(folder, 100_000)
      const append = async (i) => {
        const values = Array.from({ length: 1 + random(4) }, () => Buffer.alloc(1 + random(6000), 1 + i % 255))
        const err = await failureOf(async () => {
          const seq = await log.append(values)
          expected.push({ seq, values })
        })
        if (err && err.code !== 'ENOSPC') t.fail(`${err.code}: ${err.message}`)
        return err === null
      }
      for (let i = 0, failed = 0; failed < 30; i++) failed += await append(i) ? 0 : 1
      t.ok(expected.length > 0, `${expected.length} appends before it was full`)
      const all = expected.flatMap(({ values }) => values)
      t.deepEqual((await collect(log.stream())).map(({ value }) => value), all, 'all can be read')
      await log.del(expected[0].seq)
      t.equal((await failureOf(() => log.get(expected[0].seq))).code, 'flumelog:deleted', 'deleting needs no room')
      await log.sync()
      free()
      for (let i = 0; i < 20; i++) t.ok(await append(i), 'appends succeed again')
      await log.close()
      const again = OffsetLog(file, { fsync })
      await again.ready()
      t.deepEqual(again.recovery, null)
      const first = expected[0].values.length
      const left = expected.flatMap(({ values }) => values)
      left.splice(first - 1, 1)
      t.deepEqual((await collect(again.stream())).map(({ value }) => value), left, 'after it was opened again, too')
      await again.close()
    })
  }

  test(`${framing}: a torn end is not cut where it cannot be kept`, async (t, folder) => {
    const file = path.join(folder, 'log')
    const log = OffsetLog(file, { framing })
    for (let i = 0; i < 10; i++) await log.append(Buffer.alloc(500, i + 1))
    await log.close()
    fs.appendFileSync(file, Buffer.alloc(50_000, 9))
    const before = fs.readFileSync(file)
    // Room for the names of files, and a page.
    const free = fill(folder, 8192)
    const failed = OffsetLog(file)
    t.equal((await failureOf(() => failed.ready())).code, 'ENOSPC')
    await failed.close()
    t.ok(fs.readFileSync(file).equals(before), 'nothing was cut')
    free()
    const again = OffsetLog(file)
    await again.ready()
    t.equal(fs.statSync(again.recovery.keptAt).size, 50_000)
    t.equal((await collect(again.stream())).length, 10)
    await again.close()
  })
}

test('a new log that has no room is not there at all', async (t, folder) => {
  const free = fill(folder, 8192)
  const file = path.join(folder, 'log')
  const log = OffsetLog(file)
  t.equal((await failureOf(() => log.ready())).code, 'ENOSPC')
  await log.close()
  t.deepEqual(fs.readdirSync(folder), ['filler'])
  free()
  const again = OffsetLog(file)
  await again.append(Buffer.from('a'))
  t.equal((await collect(again.stream())).length, 1)
  await again.close()
})
