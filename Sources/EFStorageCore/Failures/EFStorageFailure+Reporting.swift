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
  /// It runs on the reading or writing thread, before the access returns, without a lock.
  public static func observe(_ body: @escaping @Sendable (EFStorageFailure) -> Void) -> Observation {
    let observation = Observation(body)
    observers.withLock { $0[ObjectIdentifier(observation)] = body }
    return observation
  }

  /// Whether a failed conversion, most likely a programming error, stops a debug build. True by default; ignored in a
  /// release build of this package.
  public static var trapsOnConversionFailureInDebugBuilds: Bool {
    get { traps.load(ordering: .relaxed) }
    set { traps.store(newValue, ordering: .relaxed) }
  }

  /// Notifies the observers. Containers call it before their reference's hook.
  public func report() {
    // Each is looked up just before its call, since another may have cancelled it.
    let identifiers = Self.observers.withLock { Array($0.keys) }
    for identifier in identifiers {
      let body = Self.observers.withLock { $0[identifier] }
      body?(self)
    }
  }

  /// The default of the containers' hooks: writes a line to the standard error, and stops a debug build at a failed
  /// conversion.
  public func reportByDefault() {
    let line = Array("EFStorage: \(self)\n".utf8)
    // A failing standard error cannot be reported.
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

    /// Begins no more calls; a running one on another thread may continue.
    public func cancel() { _ = EFStorageFailure.observers.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }
  }
}
