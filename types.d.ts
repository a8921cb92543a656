// Types for the dependencies that ship none. Only what the house uses is declared.

declare module 'obz' {
  function createObz<T> (filter?: (before: T, after: T) => boolean): createObz.Obz<T>
  namespace createObz {
    type Obz<T> = import('./packages/flow').Obz<T>
  }
  export = createObz
}

declare module 'pull-stream' {
  type Source<T> = (end: Error | true | null, cb: (end: Error | true | null, item?: T) => void) => void
  type Sink<T> = (source: Source<T>) => void
  function pull<T> (source: Source<T>, sink: Sink<T>): void
  namespace pull {
    function values<T> (items: readonly T[]): Source<T>
    function collect<T> (done: (err: Error | null, items: T[]) => void): Sink<T>
    function drain<T> (op: (item: T) => unknown, done?: (err: Error | null) => void): Sink<T>
  }
  export = pull
}

declare module 'aligned-block-file' {
  interface Blocks {
    offset: { once (listener: (size: number) => void): void }
    read (start: number, end: number, cb: (err: Error | null, buf?: Buffer) => void): void
  }
  function createBlocks (path: string, blockSize: number, flags: string): Blocks
  export = createBlocks
}

declare module 'flumelog-offset' {
  interface FlumeLog {
    since: { once (listener: (seq: number) => void): void }
    stream (options?: object): import('pull-stream').Source<any>
  }
  function createLog (path: string, options: { blockSize: number, codec?: object, flags?: string }): FlumeLog
  export = createLog
}

declare module 'flumecodec' {
  export const json: { encode (value: unknown): string, decode (text: string): any, buffer: boolean }
}

declare module 'bipf' {
  export function seekKey (buf: Uint8Array, start: number, key: Uint8Array): number
  export function compareString (buf: Uint8Array, start: number, text: Uint8Array): number | null
  export function allocAndEncode (value: unknown): Buffer
  export function decode (buf: Uint8Array): unknown
}

declare module 'd3-node' {
  export class D3Node {
    d3: any
    window: any
    createSVG (width: number, height: number): any
  }
}

declare module '@node-rs/crc32' {
  export function crc32 (input: Uint8Array | string, initialState?: number): number
}

/** Of the engine; the types of Node.js do not have it. */
declare namespace WebAssembly {
  class Module { constructor (bytes: Uint8Array) }
  class Instance {
    constructor (module: Module)
    readonly exports: Record<string, any>
  }
}

declare module 'autocannon' {
  /** Sends requests for `duration` seconds. The promise is also an emitter of `response` events. */
  function autocannon (options: object): Promise<autocannon.Result> & import('node:events').EventEmitter
  namespace autocannon {
    type Result = { '2xx': number, non2xx: number, errors: number, duration: number }
  }
  export = autocannon
}
