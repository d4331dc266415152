extension Environment {
  /// How long operations wait for each other, in nanoseconds. Tests make them shorter.
  package struct Waits: Sendable, Equatable {
    /// A read, for a free slot. Longer than ``map``, so that a read made inside a read outlasts a map that gave up.
    package var read: UInt64 = 5_000_000_000
    /// The map's growth, for running reads and writes.
    package var map: UInt64 = 2_000_000_000
    /// The last close, for running operations.
    package var close: UInt64 = 10_000_000_000
    /// ``Environment/adopt(_:)``, for running operations; short, since new reads wait meanwhile.
    package var adoption: UInt64 = 250_000_000
    /// A write, and a read's first use of a slot, for other processes; `nil` for as long as it takes.
    package var otherProcesses: UInt64?

    package init() {}
  }
}
