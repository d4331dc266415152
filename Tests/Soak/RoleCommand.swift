import ArgumentParser
import Reliability

struct RoleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "role", shouldDisplay: false)

  @Argument var name: String
  @Argument(parsing: .captureForPassthrough) var arguments: [String] = []

  func run() throws {
    guard let role = Trials.roles.first(where: { $0.name == name }) else {
      throw ValidationError("There is no role \(name).")
    }
    try role.run(arguments)
  }
}
