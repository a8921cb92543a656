'use strict'
// The shapes that stacks, layers and the harness share. Types only: there is nothing to run here.

/**
 * What a stack hands back once a log is open: the part that is timed, and the part that is not.
 * @template Visit
 * @typedef {object} Reader
 * @property {(visit: Visit) => Promise<void>} run  reads everything, start to end; this is what the clock sees
 * @property {() => Promise<void>} close
 */

/**
 * Bytes start..end of `buf`, found at `seq`. They are borrowed: only valid until the call returns.
 * @typedef {(seq: number, buf: Uint8Array, start: number, end: number) => void} VisitBytes
 * @typedef {(seq: number, value: unknown) => void} VisitValue
 * @typedef {(seq: number, length: number) => void} VisitBoundary
 */

/**
 * @typedef {object} OpenOptions
 * @property {number} blockSize  bytes
 * @property {string} query  what `value.content.root` must equal, for `matches`
 */

/**
 * @template Visit
 * @typedef {(path: string, options: OpenOptions) => Promise<Reader<Visit>>} Open
 */

/**
 * The primitives of a stack. Each opens a file and visits all of it in one way.
 * @typedef {object} Primitives
 * @property {Open<VisitBytes>} blocks  every block of `blockSize`, in order; the last one may be shorter
 * @property {Open<VisitBytes>} sections  every section of 1 KiB, each asked for by itself, through the block cache
 * @property {Open<VisitBytes>} records  every record's bytes, not parsed
 * @property {Open<VisitValue>} values  every record, parsed as JSON
 * @property {Open<VisitBoundary>} boundaries  where every record begins and how long it is, and nothing else
 * @property {Open<VisitBytes>} matches  every binary record that answers the query, found without decoding it
 */

/**
 * @typedef {object} Stack
 * @property {string} name  for `--stacks` and the CSV files: lower case
 * @property {string} label  for the table and the charts
 * @property {number} order  the lowest is the one that the others are compared with
 * @property {import('@millrace/offset-log').FramingName} framing  of the files it reads
 * @property {string[]} packages  whose versions belong in the CSV files
 * @property {number} [slowUpTo]  up to this block size (bytes) it only reads the first 64 MiB, once
 * @property {Primitives} primitives
 */

/**
 * @typedef {object} Tally
 * @property {(first: number, ...rest: any[]) => void} visit  takes what the layer's primitive delivers
 * @property {() => TallyResult} result
 */

/**
 * @typedef {object} TallyResult
 * @property {number} records  how many items were delivered
 * @property {number} delivered  their bytes; 0 where values were delivered
 * @property {number} seqSum  the exact sum of their seqs or positions
 * @property {string} seqDigest  of the seqs of the sampled items
 * @property {string} digest  of the bytes or values of the sampled items
 */

/**
 * @typedef {object} Layer
 * @property {string} name
 * @property {number} order
 * @property {string} meaning  one line, for the table and the charts
 * @property {'json' | 'binary'} log  which of the two logs it reads
 * @property {keyof Primitives} primitive
 * @property {'file' | 'records'} delivers  `file`: the bytes depend on the framing. `records`: they do not
 * @property {boolean} perBlockSize  whether what is delivered differs with the block size
 * @property {boolean} [isSlow]  most of a bench goes here: where time runs out, the repeats of this layer go
 * @property {() => Tally} createTally
 */

/**
 * One child process to be.
 * @typedef {object} Case
 * @property {Stack} stack
 * @property {Layer} layer
 * @property {number} blockSize
 * @property {number} run  from 1
 * @property {boolean} prefix  reads the first 64 MiB instead of the whole log
 * @property {boolean} unmeasured  runs only so that another stack's answers can be compared with its own
 */

/**
 * What a child process reports.
 * @typedef {TallyResult & { ms: number, bytes: number, peakMemory: number }} Answer
 */

/**
 * One line of a CSV file.
 * @typedef {object} Measurement
 * @property {string} stack
 * @property {string} layer
 * @property {number} blockSize
 * @property {number} run
 * @property {number} ms  for the whole log; where `scaled`, worked out from the part that was read
 * @property {number} records  delivered by this run
 * @property {number} bytes  of the file, read by this run
 * @property {number} peakMemory  bytes, of the whole process
 * @property {boolean} scaled
 */

module.exports = {}
