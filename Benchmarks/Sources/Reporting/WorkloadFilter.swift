/// The workloads whose title matches a regular expression anywhere.
public struct WorkloadFilter {
  private let pattern: Regex<AnyRegexOutput>?

  /// - Parameter text: an empty one selects everything.
  /// - Throws: What is wrong with the expression.
  public init(_ text: String) throws { pattern = text.isEmpty ? nil : try Regex(text) }

  public func selects(_ title: String) -> Bool {
    guard let pattern else { return true }
    return title.firstMatch(of: pattern) != nil
  }
}
