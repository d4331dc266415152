import Synchronization

/// The part of an environment that has a stable address, for its atomic words.
struct Control: ~Copyable {
  /// Why nobody may come in; 0 while everybody may.
  struct Gate: OptionSet {
    let rawValue: UInt32
    /// The map is about to move: control operations wait.
    static let pausesUsers = Gate(rawValue: 1)
    /// The map is about to move: reads wait.
    static let pausesReaders = Gate(rawValue: 2)
    static let closed = Gate(rawValue: 4)
    /// The map was lost in a failed resize, or the files could not be opened again. See ``Environment/reopen()``.
    static let broken = Gate(rawValue: 16)
    /// The C environment was closed and freed.
    static let finished = Gate(rawValue: 32)
    /// The file was found damaged. Nothing may be read any more.
    static let damaged = Gate(rawValue: 64)

    /// Why nobody may come in any more.
    static let unusable: Gate = [.closed, .broken, .damaged]
  }

  /// Read by every operation after it announced itself (in a reader slot or in ``users``), and written before those
  /// are scanned; both sides sequentially consistent, so at least one of them sees the other.
  let gate = Atomic<UInt32>(0)

  /// Running control operations: everything but reads and writes.
  let users = Atomic<Int>(0)

  /// The thread that holds the write transaction, 0 if none.
  let writerThread = Atomic<UInt>(0)

  /// Which files the environment is on, counted by ``Environment/adopt(_:)``, above the 44 bits of a transaction's
  /// number: see ``Environment/position(of:)``.
  let generation = Atomic<UInt64>(0)
  static let nextGeneration: UInt64 = 1 << 44

  /// Address of LMDB's map, and its pages; 0 while it is not known. Changed while nobody is in, or to what it is.
  let map = Atomic<UInt>(0)
  let mapPages = Atomic<UInt64>(0)

  /// See ``PathHints``: of whatever files the environment is on.
  let hints = PathHints()

  /// The gate as it is now.
  @inline(__always)
  var current: Gate {
    Gate(rawValue: gate.load(ordering: .sequentiallyConsistent))
  }

  func raise(_ bits: Gate) {
    gate.bitwiseOr(bits.rawValue, ordering: .sequentiallyConsistent)
  }

  func lower(_ bits: Gate) {
    gate.bitwiseAnd(~bits.rawValue, ordering: .sequentiallyConsistent)
  }

  /// Throws if the environment cannot be used any more.
  ///
  /// - Parameter except: What is no reason.
  func checkUsable(_ operation: String, except: Gate = []) throws(LMDBError) {
    let gate = current.intersection(.unusable).subtracting(except)
    if gate.isEmpty { return }
    let code: LMDBError.Code = gate.contains(.closed) ? .closed : gate.contains(.damaged) ? .corrupted : .panic
    throw LMDBError(code: code, operation: operation)
  }
}
