import Synchronization

/// The environment's atomic words, at a stable address.
struct Control: ~Copyable {
  /// Reasons to refuse operations; 0 while the environment is open.
  struct Gate: OptionSet {
    let rawValue: UInt32
    /// The map is about to move: control operations wait.
    static let pausesUsers = Gate(rawValue: 1)
    /// The map is about to move: reads wait.
    static let pausesReaders = Gate(rawValue: 2)
    static let closed = Gate(rawValue: 4)
    /// The map was lost in a failed resize, or the files could not be reopened. See ``Environment/reopen()``.
    static let broken = Gate(rawValue: 16)
    /// The C environment was closed and freed.
    static let finished = Gate(rawValue: 32)
    /// The file is damaged and must not be read any more.
    static let damaged = Gate(rawValue: 64)

    /// Permanent reasons.
    static let unusable: Gate = [.closed, .broken, .damaged]
  }

  /// Operations read this after announcing themselves (in a reader slot or in ``users``); closers write it before
  /// scanning those. Both are sequentially consistent, so at least one side sees the other.
  let gate = Atomic<UInt32>(0)

  /// Running control operations: all except reads and writes.
  let users = Atomic<Int>(0)

  /// The thread that holds the write transaction, 0 if none.
  let writerThread = Atomic<UInt>(0)

  /// The generation of the environment's files, counted by ``Environment/adopt(_:)``, above the 44 bits of a
  /// transaction number: see ``Environment/position(of:)``.
  let generation = Atomic<UInt64>(0)
  static let nextGeneration: UInt64 = 1 << 44

  /// Address and pages of LMDB's map; 0 while unknown. Changed only while no operation runs, or to the same value.
  let map = Atomic<UInt>(0)
  let mapPages = Atomic<UInt64>(0)

  /// Survives a change of the environment's files: see ``PathHints``.
  let hints = PathHints()

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

  /// Throws if the environment is no longer usable.
  ///
  /// - Parameter except: Reasons to ignore.
  func checkUsable(_ operation: String, except: Gate = []) throws(LMDBError) {
    let gate = current.intersection(.unusable).subtracting(except)
    if gate.isEmpty { return }
    let code: LMDBError.Code = gate.contains(.closed) ? .closed : gate.contains(.damaged) ? .corrupted : .panic
    throw LMDBError(code: code, operation: operation)
  }
}
