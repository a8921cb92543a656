'use strict'
// Follows the text files of a folder as shippers do: by inode, from where it was, whole lines only.

const fs = require('node:fs')
const path = require('node:path')

class Follower {
  /**
   * @param {string} folder
   * @param {RegExp} names  of the files to follow
   */
  constructor (folder, names) {
    this._folder = folder
    this._names = names
    /** By inode: how far it is, and the beginning of a line. @type {Map<number, { position: number, rest: Buffer }>} */
    this._files = new Map()
    /** The numbers of all lines, in the order of the files' names. @type {number[]} */
    this.numbers = []
    /** @type {string[]} */
    this.faults = []
  }

  /** Reads what is new. */
  poll () {
    for (const name of fs.readdirSync(this._folder).filter((name) => this._names.test(name)).sort()) {
      const fd = fs.openSync(path.join(this._folder, name), 'r')
      try {
        this._readOn(fd, name)
      } finally {
        fs.closeSync(fd)
      }
    }
  }

  /** @type {(fd: number, name: string) => void} */
  _readOn (fd, name) {
    const { ino, size } = fs.fstatSync(fd)
    const file = this._files.get(ino) ?? { position: 0, rest: Buffer.alloc(0) }
    this._files.set(ino, file)
    if (size < file.position) this.faults.push(`${name} has ${size} bytes, and had ${file.position}`)
    const bytes = Buffer.alloc(Math.max(0, size - file.position))
    const count = fs.readSync(fd, bytes, 0, bytes.length, file.position)
    file.position += count
    const text = Buffer.concat([file.rest, bytes.subarray(0, count)])
    if (text.includes(0)) this.faults.push(`${name} has a zero byte`)
    const end = text.lastIndexOf(10) + 1
    file.rest = Buffer.from(text.subarray(end))
    for (const line of text.toString('utf8', 0, end).split('\n').slice(0, -1)) this._take(line, name)
  }

  /** @type {(line: string, name: string) => void} */
  _take (line, name) {
    try {
      this.numbers.push(JSON.parse(line).n)
    } catch (err) {
      this.faults.push(`a line of ${name} is no JSON: ${/** @type {Error} */ (err).message}: ${line.slice(0, 80)}`)
    }
  }
}

exports.Follower = Follower
