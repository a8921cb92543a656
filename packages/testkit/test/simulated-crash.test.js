'use strict'

const { promisify } = require('node:util')
const tape = require('tape')
const { CrashPoint, SimulatedDisk, TEAR, createRandom } = require('..')

const FOLDER = '/folder'
const FILE = '/folder/file'
const COPY = '/folder/copy'
const seed = Date.now() % 2 ** 31

async function openFile (disk, file) {
  const handle = await promisify(disk.storage.open)(file, { flags: 'r+' })
  return {
    write: (bytes, position) => promisify(handle.write)(bytes, 0, bytes.length, position),
    truncate: promisify(handle.truncate),
    sync: promisify(handle.sync)
  }
}

const contentsOf = (disk) => disk.list().map((file) => `${file} ${disk.read(file).toString('latin1')}`).join('\n')

tape('CrashPoint: nothing kept is what is durable, everything kept is what readers saw', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(700, 'a'))
  const file = await openFile(disk, FILE)
  await file.write(Buffer.alloc(600, 'b'), 500)
  await file.truncate(900)
  await (await openFile(disk, COPY)).write(Buffer.from('copy'), 0)
  await promisify(disk.storage.rename)(COPY, '/folder/other')
  const point = new CrashPoint(disk)
  t.deepEqual(point.files, [{ name: FILE, sizes: [700, 1100, 900] }, { name: COPY, sizes: [0, 4] }])
  t.deepEqual(point.folders, [{ folder: FOLDER, count: 2 }])
  t.deepEqual(point.sectors.map(({ file, index }) => [file, index]), [[0, 0], [0, 1], [0, 2], [1, 0]])
  t.deepEqual(point.none(), { names: [0], sizes: [0, 0], sectors: [0, 0, 0, 0] })
  t.equal(contentsOf(point.choose(point.none()).toDisk()), contentsOf(disk.crash(() => 0)))
  t.equal(contentsOf(point.choose(point.all()).toDisk()), contentsOf(disk))
})

tape('CrashPoint: a torn sector is of old and new bytes, the same ones for the same seed', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(512, 'a'))
  await (await openFile(disk, FILE)).write(Buffer.alloc(512, 'b'), 0)
  const point = new CrashPoint(disk)
  const seen = new Set()
  for (let tearSeed = 1; tearSeed < 40; tearSeed++) {
    const choose = () => point.choose({ names: [], sizes: [0], sectors: [1 + TEAR * tearSeed] })
    const text = choose().toDisk().read(FILE).toString()
    if (!/^[ab]{512}$/.test(text)) t.fail(`${text} for ${tearSeed}`)
    if (choose().toDisk().read(FILE).toString() !== text) t.fail(`${tearSeed} gives different bytes`)
    seen.add(text)
  }
  t.ok(seen.size > 35)
})

tape(`CrashPoint: two images have one hash when they have the same bytes and names, and only then (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  /** @type {Map<number, string>} */
  const byHash = new Map()
  const byContents = new Map()
  for (let round = 0; round < 60; round++) {
    const disk = new SimulatedDisk({ decide: ({ name }) => ({ losesPages: name === 'sync' && random(2) === 0 }) })
    for (const name of [FILE, COPY]) {
      if (random(2) === 0) disk.put(name, Buffer.alloc(random(1200), random(3)))
      const file = await openFile(disk, name)
      for (let step = random(5); step > 0; step--) {
        const kind = random(6)
        if (kind === 0) await file.truncate(random(1200))
        else if (kind === 1) await file.sync().catch(() => {})
        else await file.write(Buffer.alloc(1 + random(700), random(3)), random(800))
      }
    }
    if (random(2) === 0) await promisify(disk.storage.rename)(COPY, FILE)
    if (random(4) === 0) await promisify(disk.storage.syncFolder)(FOLDER)
    const point = new CrashPoint(disk.clone())
    for (let crash = 0; crash < 30; crash++) {
      const image = point.choose({
        names: point.folders.map(({ count }) => random(count + 1)),
        sizes: point.files.map(({ sizes }) => random(sizes.length)),
        sectors: point.sectors.map(({ versions }) => random(versions.length + 1))
      })
      const contents = contentsOf(image.toDisk())
      if ((byHash.get(image.hash) ?? contents) !== contents) t.fail('one hash, two contents')
      if ((byContents.get(contents) ?? image.hash) !== image.hash) t.fail(`two hashes, one content ${round}`)
      byHash.set(image.hash, contents)
      byContents.set(contents, image.hash)
    }
  }
  t.ok(byHash.size > 300, `${byHash.size} images`)
})
