#if !canImport(Darwin)
  package import Foundation

  // Unchecked: the units are Foundation's constants and never change.
  package struct DimensionClass: @unchecked Sendable {
    package let type: Dimension.Type
    /// Units with a private converter, identified by their symbol.
    package let known: [Dimension]

    private init(_ type: Dimension.Type, known: [Dimension] = []) {
      self.type = type
      self.known = known
    }

    package static let all: [DimensionClass] =
      plain.map { DimensionClass($0) } + [
        DimensionClass(
          UnitFuelEfficiency.self,
          known: [
            UnitFuelEfficiency.litersPer100Kilometers, UnitFuelEfficiency.milesPerGallon,
            UnitFuelEfficiency.milesPerImperialGallon,
          ])
      ]

    private static let plain: [Dimension.Type] = [
      Dimension.self, UnitAcceleration.self, UnitAngle.self, UnitArea.self, UnitConcentrationMass.self,
      UnitDispersion.self, UnitDuration.self, UnitElectricCharge.self, UnitElectricCurrent.self,
      UnitElectricPotentialDifference.self, UnitElectricResistance.self, UnitEnergy.self, UnitFrequency.self,
      UnitIlluminance.self, UnitInformationStorage.self, UnitLength.self, UnitMass.self, UnitPower.self,
      UnitPressure.self, UnitSpeed.self, UnitTemperature.self, UnitVolume.self,
    ]
  }
#endif
