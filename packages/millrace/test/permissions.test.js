'use strict'
// What a user has no rights for, and paths that lead nowhere: the message says which right, of which path, and what to
// do.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { open } = require('..')
const { callCommand, runCommand } = require('./run-command')

const NOBODY = 65534

tape('permissions: the right that is missing is named, with the path and what to do', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can become another user')
  const folder = temporaryFolder()
  for (let at = folder; at !== path.dirname(at) && at !== require('node:os').tmpdir(); at = path.dirname(at)) fs.chmodSync(at, 0o777)
  const at = (name) => path.join(folder, name)
  for (const [name, mode] of [['a.log', 0o644], ['unread.log', 0o222]]) {
    const log = open(at(name))
    await log.append([{ n: 1 }])
    await log.close()
    fs.chmodSync(at(name), mode)
  }
  const log = open(at('unread'), { maxSize: 2 ** 20 })
  await log.append([{ n: 1 }])
  await log.close()
  fs.chmodSync(at('unread'), 0o333)
  for (const [name, mode] of [['fixed', 0o555], ['closed', 0o600]]) {
    fs.mkdirSync(at(name))
    fs.chmodSync(at(name), mode)
  }
  const user = { cwd: folder, uid: NOBODY, gid: NOBODY }
  if ((await runCommand(['count', 'a.log'], user)).code !== 0) return t.skip('this user cannot run the command here')
  const said = async (words) => (await runCommand(words, user)).stderr
  const advice = 'run the command as a user who may, or change that with chmod'
  for (const words of [['cat'], ['verify'], ['repair'], ['snapshot', 's.log'], ['convert', 'c.log'], ['info']]) {
    const [command, ...others] = words
    t.ok((await said([command, 'unread.log', ...others])).endsWith(`unread.log: you may not read this file; ${advice}\n`), `${command} of a file`)
    if (command === 'convert') continue
    t.ok((await said([command, 'unread', ...others])).endsWith(`unread: you may not read this folder; ${advice}\n`), `${command} of a folder`)
  }
  t.ok((await said(['append', 'a.log', '1'])).endsWith(`a.log: you may not write this file; ${advice}\n`))
  for (const words of [['snapshot', 'a.log', 'fixed/s.log'], ['convert', 'a.log', 'fixed/c.log'], ['export', 'a.log', 'fixed/e'], ['append', 'fixed/a.log', '1']]) {
    const stderr = await said(words)
    t.ok(stderr.endsWith(`fixed: you may not make files in this folder; ${advice}, or give another path\n`), stderr)
  }
  t.equal(await said(['cat', 'closed/a.log']), `millrace: closed/a.log: you may not go through the folders on this path; ${advice}\n`)
})

tape('paths: a link that leads to itself and a name that is too long are misuse, told in words', async (t) => {
  const folder = temporaryFolder()
  const loop = path.join(folder, 'loop.log')
  fs.symlinkSync(loop, loop)
  const long = path.join(folder, 'a'.repeat(300))
  for (const [file, said] of [[loop, 'this is a symbolic link that leads to itself; check where it leads'], [long, 'a name in this path is too long; give a shorter one']]) {
    for (const words of [['cat'], ['tail', '-f'], ['info'], ['verify'], ['append', '1'], ['view']]) {
      const { code, stderr } = await callCommand([words[0], ...words.slice(1, words[0] === 'tail' ? 2 : 1), file, ...words[0] === 'append' ? ['1'] : []])
      t.deepEqual([code, stderr], [2, `millrace: ${file}: ${said}\n`], words[0])
    }
  }
})
