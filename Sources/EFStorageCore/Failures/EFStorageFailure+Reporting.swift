import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension EFStorageFailure {
  /// Calls `body` for every failure of any container in this process, until the observation is cancelled or released.
  ///
  /// It is called on the thread that read or wrote, before that returns, and with no lock held.
  public static func observe(_ body: @escaping @Sendable (EFStorageFailure) -> Void) -> Observation {
    let observation = Observation(body)
    observers.withLock { $0[ObjectIdentifier(observation)] = body }
    return observation
  }

  /// Whether a failed conversion, which is most likely a mistake in the program, ends it in a debug build. True by
  /// default. In a release build of this package it never does.
  public static var trapsOnConversionFailureInDebugBuilds: Bool {
    get { traps.load(ordering: .relaxed) }
    set { traps.store(newValue, ordering: .relaxed) }
  }

  /// Tells the observers. For containers, which then call their reference's hook.
  public func report() {
    // Each is looked up just before its call: another one may have cancelled it.
    let identifiers = Self.observers.withLock { Array($0.keys) }
    for identifier in identifiers {
      let body = Self.observers.withLock { $0[identifier] }
      body?(self)
    }
  }

  /// What the containers' hooks do unless they are replaced: write a line to the standard error, and in a debug build
  /// stop at a failed conversion.
  public func reportByDefault() {
    let line = Array("EFStorage: \(self)\n".utf8)
    // There is nobody to tell that the standard error cannot be written.
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    if kind == .conversion && Self.trapsOnConversionFailureInDebugBuilds { assertionFailure("\(self)") }
  }

  private static let observers = Mutex<[ObjectIdentifier: @Sendable (EFStorageFailure) -> Void]>([:])
  private static let traps = Atomic(true)

  /// Ends when it is cancelled or released.
  public final class Observation: Sendable {
    private let body: @Sendable (EFStorageFailure) -> Void

    init(_ body: @escaping @Sendable (EFStorageFailure) -> Void) { self.body = body }

    deinit { cancel() }

    /// No call begins after this; one that another thread has begun may go on.
    public func cancel() { _ = EFStorageFailure.observers.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }
  }
}
