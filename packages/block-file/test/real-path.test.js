'use strict'
// Where a file is, or would be made.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const tape = require('tape')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const { fileStorage } = require('..')

const realPath = promisify(fileStorage.realPath)
const skip = process.platform === 'win32'

tape('realPath: of what is there, and of what is not', async (t) => {
  const folder = fs.realpathSync.native(temporaryFolder())
  const file = path.join(folder, 'file')
  t.equal(await realPath(file), file)
  fs.writeFileSync(file, '')
  t.equal(await realPath(file), file)
  t.equal(await realPath(path.relative('', file)), file)
  const deep = path.join(folder, 'some', 'more', 'file')
  t.equal(await realPath(deep), deep, 'in a folder that is not there either')
})

tape('realPath: through symlinks', { skip }, async (t) => {
  const folder = fs.realpathSync.native(temporaryFolder())
  const at = (...names) => path.join(folder, ...names)
  fs.mkdirSync(at('real'))
  fs.symlinkSync('real', at('folder'))
  fs.symlinkSync('../real/file', at('real', 'to file'))
  fs.symlinkSync(at('folder', 'to file'), at('to link'))
  fs.symlinkSync('missing', at('to missing'))
  for (const isThere of [false, true]) {
    if (isThere) fs.writeFileSync(at('real', 'file'), '')
    for (const name of ['folder/file', 'folder/to file', 'real/to file', 'to link', 'folder/../real/file']) {
      t.equal(await realPath(at(name)), at('real', 'file'), name)
    }
  }
  t.equal(await realPath(at('to missing', 'more', 'file')), at('missing', 'more', 'file'))
})

tape('realPath: what leads nowhere is an error', { skip }, async (t) => {
  const folder = temporaryFolder()
  const at = (name) => path.join(folder, name)
  fs.symlinkSync('b', at('a'))
  fs.symlinkSync('a', at('b'))
  fs.writeFileSync(at('file'), '')
  t.equal((await failureOf(() => realPath(at('a')))).code, 'ELOOP')
  t.equal((await failureOf(() => realPath(at('a/file')))).code, 'ELOOP')
  t.equal((await failureOf(() => realPath(at('file/file')))).code, 'ENOTDIR')
  t.equal((await failureOf(() => realPath(at('missing/')))).code, 'ENOENT', 'a file is not made where a folder is named')
})

tape('toAbsolute: nothing but what comes before', (t) => {
  const { toAbsolute } = fileStorage
  t.equal(toAbsolute('/a/../b'), '/a/../b')
  t.equal(path.resolve(toAbsolute('x/y')), path.resolve('x/y'))
  t.ok(path.isAbsolute(toAbsolute('x')))
  t.match(toAbsolute('x/'), /[/\\]$/, 'what names a folder still does')
  t.equal(path.resolve(toAbsolute('../x')), path.resolve('../x'))
  t.end()
})
