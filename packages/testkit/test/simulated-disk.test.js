'use strict'

const { promisify } = require('node:util')
const tape = require('tape')
const { SimulatedDisk } = require('..')

const FILE = '/folder/file'
const never = () => 0

async function open (disk, file = FILE, flags = 'r+') {
  const handle = await promisify(disk.storage.open)(file, { flags })
  const call = (name, ...args) => promisify(handle[name])(...args)
  return {
    write: (bytes, position) => call('write', Buffer.from(bytes), 0, bytes.length, position),
    read: async (length, position) => {
      const buf = Buffer.alloc(length)
      return buf.subarray(0, await call('read', buf, 0, length, position))
    },
    readSync: (length, position) => {
      const buf = Buffer.alloc(length)
      return buf.subarray(0, handle.readSync(buf, 0, length, position))
    },
    truncate: (size) => call('truncate', size),
    sync: () => call('sync'),
    size: () => call('size'),
    close: () => call('close')
  }
}

const syncFolder = (disk) => promisify(disk.storage.syncFolder)('/folder')
const codeOf = (promise) => promise.then(() => null, (err) => err.code)

tape('SimulatedDisk: is a storage', async (t) => {
  const disk = new SimulatedDisk()
  t.equal(await codeOf(open(disk, FILE, 'r')), 'ENOENT')
  const file = await open(disk)
  t.equal(await file.write('hello world', 0), 11)
  await file.write('W', 6)
  t.equal((await file.read(20, 0)).toString(), 'hello World')
  t.deepEqual(await promisify(disk.storage.listFolder)('/folder'), ['file'])
  t.equal(file.readSync(3, 8).toString(), 'rld')
  await file.truncate(5)
  t.equal(await file.size(), 5)
  await file.truncate(7)
  t.deepEqual(await file.read(9, 0), Buffer.from('hello\0\0'))
  await file.close()
  t.deepEqual(disk.list(), [FILE])
  t.ok(disk.callCount > 5)
})

tape('crash: what was not synced may be lost, what was cannot be', async (t) => {
  const disk = new SimulatedDisk()
  const file = await open(disk)
  await file.write('first', 0)
  t.deepEqual(disk.crash(never).list(), [], 'a new file is lost until its folder is synced')
  await syncFolder(disk)
  t.equal(disk.crash(never).read(FILE).length, 0, 'its bytes are lost until it is synced')
  await file.sync()
  await file.write('SECOND', 0)
  t.equal(disk.crash(never).read(FILE).toString(), 'first')
  t.equal(disk.read(FILE).toString(), 'SECOND', 'the disk itself goes on')
})

tape('crash: sectors, sizes and versions persist in any combination', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(1024, 'a'))
  const file = await open(disk)
  await file.write(Buffer.alloc(1024, 'b'), 0)
  await file.write(Buffer.alloc(512, 'c'), 512)
  await file.write(Buffer.alloc(512, 'd'), 1024)
  const seen = new Set()
  // An odometer: every combination of whole sectors and sizes.
  const digits = []
  for (let isDone = false; !isDone;) {
    let index = 0
    const counts = []
    const after = disk.crash((count, what) => {
      const usable = what.startsWith('sector') ? (count + 1) / 2 : count
      counts[index] = usable
      digits[index] ??= 0
      return digits[index++]
    })
    const bytes = after.read(FILE)
    seen.add([0, 512, 1024].map((start) => bytes.length > start ? String.fromCharCode(bytes[start] || 48) : '-').join(''))
    digits.length = counts.length
    let at = digits.length - 1
    while (at >= 0 && ++digits[at] === counts[at]) digits.length = at--
    isDone = at < 0
  }
  t.deepEqual([...seen].sort(), ['aa-', 'aa0', 'aad', 'ab-', 'ab0', 'abd', 'ac-', 'ac0', 'acd', 'ba-', 'ba0', 'bad', 'bb-',
    'bb0', 'bbd', 'bc-', 'bc0', 'bcd'].sort())
})

tape('crash: a torn sector has old and new bytes', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(512, 'o'))
  const file = await open(disk)
  await file.write(Buffer.alloc(512, 'n'), 0)
  const after = disk.crash((count, what) => {
    if (what.startsWith('sector')) return count - 1
    return what.startsWith('bytes') ? 0b00001111 : 0
  })
  t.equal(after.read(FILE).toString(), 'nnnnoooo'.repeat(64))
})

tape('crash: renames and removals are lost, in order, until the folder is synced', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.from('old'))
  disk.put('/folder/new', Buffer.from('new'))
  await promisify(disk.storage.rename)('/folder/new', FILE)
  await promisify(disk.storage.unlink)(FILE)
  const stateAfter = (kept) => disk.crash((count, what) => what.startsWith('names') ? kept : 0)
  t.deepEqual(stateAfter(0).list(), [FILE, '/folder/new'])
  t.deepEqual(stateAfter(1).list(), [FILE])
  t.equal(stateAfter(1).read(FILE).toString(), 'new')
  t.deepEqual(stateAfter(2).list(), [])
  await syncFolder(disk)
  t.deepEqual(disk.crash(never).list(), [])
  t.equal(await codeOf(promisify(disk.storage.unlink)(FILE)), 'ENOENT')
  t.equal(await codeOf(promisify(disk.storage.rename)(FILE, FILE)), 'ENOENT')
})

tape('faults: errors, short transfers and a full disk', async (t) => {
  let fault = {}
  const disk = new SimulatedDisk({ capacity: 10, decide: () => fault })
  const file = await open(disk)
  fault = { code: 'EIO' }
  t.equal(await codeOf(file.write('x', 0)), 'EIO')
  t.equal(await codeOf(file.read(1, 0)), 'EIO')
  t.throws(() => file.readSync(1, 0), (err) => err.code === 'EIO')
  fault = { length: 3 }
  t.equal(await file.write('abcdef', 0), 3)
  t.equal((await file.read(3, 0)).toString(), 'abc')
  fault = {}
  t.equal(await file.write('0123456789', 3), 7, 'what fits')
  t.equal(await codeOf(file.write('x', 10)), 'ENOSPC')
  t.equal(await file.write('X', 0), 1, 'overwriting needs no room')
})

tape('faults: a sync that fails as on Linux loses what it should have written, and the next one succeeds', async (t) => {
  let losesPages = false
  const disk = new SimulatedDisk({ decide: ({ name }) => ({ losesPages: name === 'sync' && losesPages }) })
  disk.put(FILE, Buffer.from('old'))
  const file = await open(disk)
  await file.write('new', 0)
  losesPages = true
  t.equal(await codeOf(file.sync()), 'EIO')
  losesPages = false
  await file.sync()
  t.equal((await file.read(3, 0)).toString(), 'new', 'readers go on seeing the new bytes')
  t.equal(disk.crash(never).read(FILE).toString(), 'old')
  disk.dropCaches()
  t.equal((await file.read(3, 0)).toString(), 'old')
})

tape('damage: flipped bits, misdirected and stale sectors', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(1024, 'a'))
  const file = await open(disk)
  await file.write(Buffer.alloc(512, 'b'), 512)
  await file.sync()
  disk.damage(FILE, (medium) => { medium[0] ^= 1 })
  t.equal((await file.read(1, 0)).toString(), '`')
  disk.damage(FILE, (medium, previous) => previous.get(1).copy(medium, 512))
  t.equal((await file.read(1, 512)).toString(), 'a', 'a write that the disk never made')
  t.throws(() => disk.damage('/nothing', () => {}), /no file/)
})

tape('clone: goes its own way, with all that was unsynced', async (t) => {
  const disk = new SimulatedDisk()
  const file = await open(disk)
  await syncFolder(disk)
  await file.write('first', 0)
  await file.sync()
  await file.write('SECOND', 0)
  const copy = disk.clone()
  await file.sync()
  await (await open(copy)).write('third!!', 0)
  t.equal(disk.crash(never).read(FILE).toString(), 'SECOND')
  t.equal(copy.crash(never).read(FILE).toString(), 'first')
  t.equal(copy.read(FILE).toString(), 'third!!')
})

tape('onChange: is told of what a crash can tell apart, before it happens', async (t) => {
  const seen = []
  const onChange = ({ name }, index) => seen.push(`${index} ${name} ${disk.list().includes(FILE) && disk.read(FILE)}`)
  const disk = new SimulatedDisk({ onChange, defer: process.nextTick })
  const file = await open(disk)
  await open(disk)
  await file.write('a', 0)
  await file.read(1, 0)
  await file.size()
  await file.sync()
  await file.truncate(0)
  await syncFolder(disk)
  await promisify(disk.storage.rename)(FILE, '/folder/other')
  await promisify(disk.storage.unlink)('/folder/other')
  t.deepEqual(seen, ['0 create false', '1 write ', '2 sync a', '3 truncate a', '4 syncFolder ', '5 rename ',
    '6 unlink false'])
  t.equal(disk.changeCount, 7)
})

tape('write: a gap it leaves is zeros, also where the medium has other bytes', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(2048, 'a'))
  const file = await open(disk)
  await file.truncate(100)
  await file.write('b', 1700)
  await file.sync()
  const expected = Buffer.alloc(1701)
  expected.fill('a', 0, 100)
  expected[1700] = 98
  t.ok(disk.crash(never).read(FILE).equals(expected))
})
