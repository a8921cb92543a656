'use strict'
// Whoever makes a folder where none can be made gets the error of the file system. Node.js's own recursive mkdir never
// ends on /proc, and takes the whole process with it.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { open } = require('..')

const root = temporaryFolder()
const isLinux = process.platform === 'linux'
const isRoot = process.getuid?.() === 0
const text = path.join(root, 'text')
fs.writeFileSync(text, 'a file')
const locked = path.join(root, 'locked')
fs.mkdirSync(locked, { mode: 0o500 })

/** Where no folder can be made, and what the file system says. */
const PLACES = [
  ...isLinux ? [['/proc/x/y', ['ENOENT']], ['/proc/self/x', ['ENOENT']], ['/sys/x/y', ['EPERM', 'EROFS', 'EACCES']]] : [],
  [path.join(text, 'x'), ['ENOTDIR']],
  [path.join(text, 'x', 'y', 'z'), ['ENOTDIR']],
  [path.join(root, 'n'.repeat(300), 'x'), ['ENAMETOOLONG']],
  [path.join(root, ...Array(600).fill('abcdefgh')), ['ENAMETOOLONG']],
  // Nothing keeps the administrator out.
  ...isRoot ? [] : [[path.join(locked, 'x', 'y'), ['EACCES']]]
]

/** Runs `no-folder.js` with a bound. @type {(folder: string, sound: string) => Promise<Array<[string, any]>>} */
async function tryPlace (folder, sound) {
  const child = spawn(process.execPath, [path.join(__dirname, 'no-folder.js'), folder, sound], { stdio: ['ignore', 'pipe', 'ignore'] })
  const bound = setTimeout(() => child.kill('SIGKILL'), 100_000)
  let printed = ''
  child.stdout.on('data', (data) => { printed += data })
  await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(bound)
  return printed.trim().split('\n').map((line) => JSON.parse(line))
}

tape('a folder that nobody can make: each call ends with the error of the file system', async (t) => {
  const sound = path.join(root, 'sound.log')
  const log = open(sound)
  await log.append({ n: 1 })
  await log.close()
  for (const [folder, codes] of PLACES) {
    const found = await tryPlace(folder, sound)
    t.equal(found.length, 11, `${folder.slice(0, 60)}: all have ended`)
    for (const [name, code] of found) {
      // A server may wait until its folder can be made. A reader makes none.
      const expected = name === 'serve' ? [503, ...codes] : name.endsWith('read') || name === 'MergedLog' ? ['ENOENT', ...codes] : codes
      t.ok(expected.includes(code), `${folder.slice(0, 60)}: ${name}: ${code}`)
    }
  }
})

tape('a folder that several processes make at the same time', async (t) => {
  const deep = path.join(root, 'a', 'b', 'c', 'd')
  const logs = Array.from({ length: 5 }, (_, index) => open(path.join(deep, `${index % 2}`, `${index}.log`)))
  for (const log of logs) await log.append({ n: 1 })
  for (const log of logs) await log.close()
  fs.symlinkSync(deep, path.join(root, 'link'))
  const through = open(path.join(root, 'link', 'e', 'f.log'))
  await through.append({ n: 1 })
  await through.close()
  t.ok(fs.existsSync(path.join(deep, 'e', 'f.log')))
})
