'use strict'
// Files that are replaced as a whole: after a power cut at any step there is the old one or the new one. And removed.

const fs = require('node:fs')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, newPath } = require('@millrace/testkit')
const { fileStorage, listFiles, readFile, removeFiles, replaceFile, withFileMode } = require('..')

const FILE = '/folder/state'
const seed = Date.now() % 2 ** 31

tape(`replaceFile: a power cut leaves the old file or the new one (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const [before, after] = [Buffer.alloc(3000, 'a'), Buffer.alloc(2000, 'b')]
  const crashes = []
  const disk = new SimulatedDisk({ onChange: () => { for (let i = 0; i < 10; i++) crashes.push(disk.crash(random)) } })
  t.equal(await readFile(disk.storage, FILE), null)
  await replaceFile(disk.storage, FILE, before)
  crashes.length = 0
  await replaceFile(disk.storage, FILE, after)
  const counts = { old: 0, new: 0 }
  for (const crashed of crashes) {
    const bytes = await readFile(crashed.storage, FILE)
    if (bytes?.equals(before)) counts.old++
    else if (bytes?.equals(after)) counts.new++
    else t.fail(`${bytes?.length} other bytes`)
    // What is left of the one that was not finished does no harm.
    await replaceFile(crashed.storage, FILE, Buffer.from('c'))
    if (String(await readFile(crashed.storage, FILE)) !== 'c') t.fail('it cannot be replaced again')
  }
  t.ok(counts.old > 0, `${counts.old} old, ${counts.new} new`)
  t.ok((await readFile(disk.crash(() => 0).storage, FILE)).equals(after), 'and the new one once it has ended')
})

tape('replaceFile: whatever call fails, it leaves nothing beside the file, which on a full disk takes the room of others', async (t) => {
  for (const call of ['open', 'truncate', 'write', 'sync', 'rename']) {
    let isFailing = false
    const disk = new SimulatedDisk({ decide: ({ name }) => isFailing && name === call ? { code: 'ENOSPC' } : {} })
    await replaceFile(disk.storage, FILE, Buffer.from('a'))
    isFailing = true
    t.equal((await failureOf(() => replaceFile(disk.storage, FILE, Buffer.from('b'))))?.code, 'ENOSPC', call)
    isFailing = false
    t.deepEqual(disk.list(), [FILE])
    t.equal(String(await readFile(disk.storage, FILE)), 'a')
  }
})

tape('replaceFile: a file that exists keeps its mode', { skip: process.platform === 'win32' }, async (t) => {
  const file = newPath('state')
  const modeOf = () => (fs.statSync(file).mode & 0o777).toString(8)
  await replaceFile(fileStorage, file, Buffer.from('a'))
  t.equal(modeOf(), '600')
  fs.chmodSync(file, 0o664)
  await replaceFile(fileStorage, file, Buffer.from('b'))
  t.equal(modeOf(), '664', 'as somebody has changed it')
  fs.chmodSync(file, 0o600)
  await replaceFile(withFileMode(fileStorage, 0o644), file, Buffer.from('c'))
  t.equal(modeOf(), '600', 'a mode is for a file that is made')
  t.equal(fs.readFileSync(file, 'utf8'), 'c')
})

tape('removeFiles: those that are asked for are gone, also after a power cut; others stay', async (t) => {
  const disk = new SimulatedDisk()
  for (const name of ['a.run', 'b.run', 'notes']) await replaceFile(disk.storage, `/folder/${name}`, Buffer.from(name))
  const isRun = (name) => name.endsWith('.run')
  t.equal(await removeFiles(disk.storage, '/folder', isRun), 2)
  t.deepEqual(await listFiles(disk.storage, '/folder'), ['notes'])
  t.deepEqual(await listFiles(disk.crash(() => 0).storage, '/folder'), ['notes'])
  t.equal(await removeFiles(disk.storage, '/folder', isRun), 0)
})

tape('removeFiles: what is missing is no failure; another failure is one', async (t) => {
  const { storage } = new SimulatedDisk()
  for (const name of ['a', 'b']) await replaceFile(storage, `/folder/${name}`, Buffer.from(name))
  const failing = (code) => ({ ...storage, unlink: (file, cb) => cb(Object.assign(new Error(code), { code })) })
  t.equal(await removeFiles(failing('ENOENT'), '/folder', () => true), 2, 'another process was quicker')
  await removeFiles(failing('EACCES'), '/folder', () => true).then(() => t.fail(), ({ code }) => t.equal(code, 'EACCES'))
  t.equal(await removeFiles(storage, '/nowhere', () => true), 0)
  t.deepEqual(await listFiles(storage, '/nowhere'), [])
  t.equal(await removeFiles({ ...storage, listFolder: undefined }, '/folder', () => true), 0)
  t.equal((await listFiles(storage, '/folder')).length, 2)
})

tape('removeFiles: a folder whose name is asked for stays, and is no failure', async (t) => {
  const folder = newPath('folder')
  fs.mkdirSync(`${folder}/b`, { recursive: true })
  for (const name of ['a', 'b/notes', 'c']) fs.writeFileSync(`${folder}/${name}`, '')
  t.equal(await removeFiles(fileStorage, folder, () => true), 2)
  t.deepEqual(fs.readdirSync(folder), ['b'])
  t.ok(fs.existsSync(`${folder}/b/notes`))
  t.deepEqual(await listFiles(fileStorage, `${folder}/${'x'.repeat(300)}`), [], 'nor is a name that no folder can have')
})
