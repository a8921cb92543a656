'use strict'
// Writes the parts of a protobuf message after each other, into memory that grows.

const { misuse } = require('@millrace/errors')

const FIRST_SIZE = 1024
const VARINT_SIZE_MAX = 10
const UINT32 = 2 ** 32

class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(FIRST_SIZE)
  #at = 0

  /** @returns {Buffer} what was written */
  finish () {
    return this.#bytes.subarray(0, this.#at)
  }

  /** @type {(tag: number, value: number) => void} */
  uint32 (tag, value) {
    this.#tag(tag)
    this.#varint(value >>> 0, 0)
  }

  /** @type {(tag: number, value: bigint) => void} */
  int64 (tag, value) {
    const unsigned = BigInt.asUintN(64, value)
    this.#tag(tag)
    this.#varint(Number(unsigned & 0xffffffffn), Number(unsigned >> 32n))
  }

  /** @type {(tag: number, value: number) => void} */
  fixed32 (tag, value) {
    this.#tag(tag)
    this.#room(4)
    this.#at = this.#bytes.writeUInt32LE(value, this.#at)
  }

  /** @type {(tag: number, value: bigint) => void} */
  fixed64 (tag, value) {
    this.#tag(tag)
    this.#room(8)
    this.#at = this.#bytes.writeBigUInt64LE(value, this.#at)
  }

  /** @type {(tag: number, value: number) => void} */
  double (tag, value) {
    this.#tag(tag)
    this.#room(8)
    this.#at = this.#bytes.writeDoubleLE(value, this.#at)
  }

  /** @type {(tag: number, text: string) => void} */
  text (tag, text) {
    if (typeof text !== 'string') throw misuse(`expected a string, got ${typeof text}`)
    const size = Buffer.byteLength(text)
    this.#tag(tag)
    this.#varint(size, 0)
    this.#room(size)
    this.#at += this.#bytes.write(text, this.#at)
  }

  /** @type {(tag: number, bytes: Uint8Array) => void} */
  bytes (tag, bytes) {
    this.#tag(tag)
    this.#varint(bytes.length, 0)
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /**
   * A message inside of this one.
   * @template T
   * @param {number} tag
   * @param {(writer: ProtobufWriter, value: T) => void} write
   * @param {T} value
   */
  message (tag, write, value) {
    this.#tag(tag)
    const begin = this.#at
    write(this, value)
    const size = this.#at - begin
    // The size comes first, and is known last.
    this.#varint(size, 0)
    const sizeSize = this.#at - begin - size
    const written = Buffer.from(this.#bytes.subarray(this.#at - sizeSize, this.#at))
    this.#bytes.copyWithin(begin + sizeSize, begin, begin + size)
    this.#bytes.set(written, begin)
  }

  /** @param {number} tag */
  #tag (tag) {
    this.#varint(tag, 0)
  }

  /** @type {(low: number, high: number) => void} unsigned */
  #varint (low, high) {
    this.#room(VARINT_SIZE_MAX)
    while (low >= 0x80 || high > 0) {
      this.#bytes[this.#at++] = low & 0x7f | 0x80
      low = ((low >>> 7) + (high % 128) * 2 ** 25) % UINT32
      high = Math.floor(high / 128)
    }
    this.#bytes[this.#at++] = low
  }

  /** @param {number} size  bytes that are about to be written */
  #room (size) {
    if (this.#at + size <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + size))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

exports.ProtobufWriter = ProtobufWriter
