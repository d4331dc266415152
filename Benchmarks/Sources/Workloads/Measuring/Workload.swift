public import Reporting

/// One thing to do, and everything that can do it.
public struct Workload {
  /// Such as "memory.get.random".
  public let name: String
  /// What the subjects work on.
  public let parameters: Parameters
  private let prepare: (Setting) throws -> [Trial]

  init(_ name: String, _ parameters: Parameters, _ prepare: @escaping (Setting) throws -> [Trial]) {
    self.name = name
    self.parameters = parameters
    self.prepare = prepare
  }

  /// Makes the subjects ready, which takes its time.
  public func trials(_ setting: Setting) throws -> [Trial] { try prepare(setting) }

  /// The name and the parameters, such as "disk.set 100 B × 50000".
  public var title: String { [name, parameters.description].filter { !$0.isEmpty }.joined(separator: " ") }
}
