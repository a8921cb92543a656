// Types for the dependencies that ship none. Only what the house uses is declared.

declare module 'obz' {
  function createObz<T> (filter?: (before: T, after: T) => boolean): createObz.Obz<T>
  namespace createObz {
    interface Obz<T> {
      (listener: (value: T) => void | false, immediately?: boolean): () => void
      value: T
      set (value: T): Obz<T>
      once (listener: (value: T) => void, immediately?: boolean): () => void
    }
  }
  export = createObz
}
