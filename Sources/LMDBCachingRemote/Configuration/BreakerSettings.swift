/// When a server that fails is left alone, and for how long.
public struct BreakerSettings: Sendable, Equatable {
  /// After how many failures in a row; 5 by default. Requests that were under way together, and fail together, are one.
  public var failures = 5
  /// How long the first pause is: 100 ms by default. Each is shorter by up to a half, at random.
  public var firstPause = Duration.milliseconds(100)
  /// How long a pause is at most: 5 s by default.
  public var longestPause = Duration.seconds(5)

  public init() {}
}
