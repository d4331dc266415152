extension Environment {
  /// How long operations wait for each other, in nanoseconds. Tests shorten them.
  package struct Waits: Sendable, Equatable {
    /// A read, for a free slot. Longer than ``map``, so that a nested read outlasts a map growth that gives up.
    package var read: UInt64 = 5_000_000_000
    /// The map's growth, for running reads and writes.
    package var map: UInt64 = 2_000_000_000
    /// The last close, for running operations.
    package var close: UInt64 = 10_000_000_000
    /// ``Environment/adopt(_:)``, for running operations; short because new reads wait for it.
    package var adoption: UInt64 = 250_000_000
    /// A write, or a read's first use of a slot, for other processes; `nil` for no limit.
    package var otherProcesses: UInt64?

    package init() {}
  }
}
