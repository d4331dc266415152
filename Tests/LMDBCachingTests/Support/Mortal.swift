import Synchronization

/// A value that knows its key and whether it is alive, for caches shared by many threads.
final class Mortal: Sendable {
  final class Census: Sendable {
    let living = Atomic<Int>(0)
    var count: Int { living.load(ordering: .sequentiallyConsistent) }
  }

  static let sign: UInt64 = 0xA11C_E5A1_1CE5_A11C

  let key: Int
  let version: Int
  /// The last moment at which it may be returned, in nanoseconds since 1970.
  let expires: Int64
  private let census: Census
  private let mark = Atomic<UInt64>(sign)

  init(_ key: Int, version: Int = 0, expires: Int64 = .max, _ census: Census) {
    self.key = key
    self.version = version
    self.expires = expires
    self.census = census
    census.living.wrappingAdd(1, ordering: .relaxed)
  }

  /// False once it is released, unless its memory is reused.
  var lives: Bool { mark.load(ordering: .relaxed) == Self.sign }

  deinit {
    precondition(mark.exchange(0, ordering: .relaxed) == Self.sign, "released twice")
    census.living.wrappingSubtract(1, ordering: .sequentiallyConsistent)
  }
}
