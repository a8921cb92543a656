// What the bench gives the browser, as JSON in the page.

/** `runs`: the time of each, in the order in which the stacks took turns. */
export interface Cell { median: number, min: number, max: number, scaled: boolean, runs: number[] }

export interface Report {
  title: string
  subtitle: string
  /** In bytes, ascending. */
  blockSizes: number[]
  /** Of the figures that are shown first. */
  blockSize: number
  /** Cells by layer and block size, in milliseconds. */
  stacks: Array<{ label: string, cells: Array<Array<Cell | null>> }>
  /** With the size of the log that each reads. */
  layers: Array<{ name: string, meaning: string, bytes: number, records: number }>
  facts: Array<[name: string, value: string]>
  /** What the machine is called beside others. */
  machine?: string
  /** What other machines measured: each layer has their charts beside it. */
  others?: Array<Report & { machine: string }>
  /** Where the processor time of a layer goes, by package: a bar each. */
  profiles?: Array<{ name: string, shares: Array<{ name: string, share: number }> }>
}

/** A picture, and the same in figures. */
export interface Picture { title: string, svg: string, alt: string, heads: string[], rows: string[][] }

/** A look for each stack: `mark` is an SVG path around 0,0. */
export interface Page extends Report {
  looks: Array<{ mark: string, lineWidth: number }>
  machines: number
  pictures: Picture[]
}
