public import Reporting

/// A task, and all subjects that can do it.
public struct Workload {
  /// For example "memory.get.random".
  public let name: String
  public let parameters: Parameters
  private let prepare: (Setting) throws -> [Trial]

  init(_ name: String, _ parameters: Parameters, _ prepare: @escaping (Setting) throws -> [Trial]) {
    self.name = name
    self.parameters = parameters
    self.prepare = prepare
  }

  /// Prepares the subjects, which may take a while.
  public func trials(_ setting: Setting) throws -> [Trial] { try prepare(setting) }

  /// The name and the parameters, such as "disk.set 100 B × 50000".
  public var title: String { [name, parameters.description].filter { !$0.isEmpty }.joined(separator: " ") }
}
